# The plugin goes where Mosquitto's own plugins are, the headers where a worker's build finds them.
install(TARGETS mosquitto_keyed_sticky LIBRARY DESTINATION "${KEYED_STICKY_PLUGIN_DIR}")
install(DIRECTORY include/keyed_sticky DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS keyed_sticky_headers EXPORT keyed_sticky)
install(EXPORT keyed_sticky NAMESPACE keyed_sticky:: FILE keyed_sticky-targets.cmake
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/keyed_sticky")
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/keyed_sticky-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/keyed_sticky-config.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/keyed_sticky")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/keyed_sticky-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/keyed_sticky-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/keyed_sticky-config-version.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/keyed_sticky")
