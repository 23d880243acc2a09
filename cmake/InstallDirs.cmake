# Where things are installed: by default beside the Mosquitto that was found, so that one command puts the plugin where
# Mosquitto's own plugins are. CMAKE_INSTALL_PREFIX, `cmake --install --prefix` and KEYED_STICKY_PLUGIN_DIR override it.
# Needs find_package(Mosquitto) before, and goes before any install().
get_filename_component(_library_dir "${Mosquitto_LIBRARY}" DIRECTORY)
if(_library_dir MATCHES "^(.*)/(lib(64)?(/[^/]+)?)$")
  set(_mosquitto_prefix "${CMAKE_MATCH_1}")
  set(_mosquitto_libdir "${CMAKE_MATCH_2}")
else()
  set(_mosquitto_prefix "")
  set(_mosquitto_libdir "lib")
endif()
if(_mosquitto_prefix STREQUAL "")  # /lib is /usr/lib
  set(_mosquitto_prefix "/usr")
endif()
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
  set_property(CACHE CMAKE_INSTALL_PREFIX PROPERTY VALUE "${_mosquitto_prefix}")
endif()

include(GNUInstallDirs)

# Mosquitto 2.1 has a folder for its plugins, 2.0 keeps them with the libraries. With neither here, the libraries' folder.
if(EXISTS "${_library_dir}/mosquitto/mosquitto_dynamic_security.so")
  set(_plugin_dir "${_mosquitto_libdir}/mosquitto")
else()
  set(_plugin_dir "${_mosquitto_libdir}")
endif()
set(KEYED_STICKY_PLUGIN_DIR "${_plugin_dir}" CACHE STRING
  "Folder of the installed plugin, relative to the prefix unless absolute")
