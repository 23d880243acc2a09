# Warnings are errors in every target of this project, and in no target that includes its headers.
add_library(keyed_sticky_warnings INTERFACE)
target_compile_options(keyed_sticky_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast)
