# Mosquitto::Plugin: the headers a plugin includes, and libmosquitto, which carries the property functions that
# Mosquitto 2.0 does not export to plugins (reading and copying).
find_path(Mosquitto_INCLUDE_DIR mosquitto_plugin.h)
find_library(Mosquitto_LIBRARY mosquitto)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Mosquitto REQUIRED_VARS Mosquitto_INCLUDE_DIR Mosquitto_LIBRARY)
if(Mosquitto_FOUND AND NOT TARGET Mosquitto::Plugin)
  add_library(Mosquitto::Plugin INTERFACE IMPORTED)
  target_include_directories(Mosquitto::Plugin SYSTEM INTERFACE "${Mosquitto_INCLUDE_DIR}")
  target_link_libraries(Mosquitto::Plugin INTERFACE "${Mosquitto_LIBRARY}")
endif()
