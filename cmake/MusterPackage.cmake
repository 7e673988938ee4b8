# What `cmake --install` puts in place: program, library, the public headers, and the package that find_package(Muster)
# reads.
include(CMakePackageConfigHelpers)
set(MUSTER_PACKAGE_FOLDER "${CMAKE_INSTALL_LIBDIR}/cmake/Muster")

# The installed program finds its library beside it, and both find what they were linked with, without LD_LIBRARY_PATH.
file(RELATIVE_PATH bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(muster PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
set_target_properties(muster_program PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}" INSTALL_RPATH_USE_LINK_PATH ON)

if(Torch_FOUND)
  set_target_properties(muster_torch PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS muster_torch EXPORT MusterTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(TARGETS muster EXPORT MusterTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS muster_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(EXPORT MusterTargets NAMESPACE Muster:: DESTINATION "${MUSTER_PACKAGE_FOLDER}")

install(DIRECTORY "${MUSTER_PUBLIC_HEADERS}/muster" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/MusterConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/MusterConfig.cmake" INSTALL_DESTINATION "${MUSTER_PACKAGE_FOLDER}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/MusterConfig.cmake" "${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindCAF.cmake"
        DESTINATION "${MUSTER_PACKAGE_FOLDER}")
