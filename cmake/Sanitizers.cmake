# KEYED_STICKY_SANITIZE=address,undefined builds plugin and tests alike with those sanitizers.
if(KEYED_STICKY_SANITIZE)
  add_compile_options(-fsanitize=${KEYED_STICKY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KEYED_STICKY_SANITIZE})
endif()
