# FindHWLOC.cmake -- Debian's libhwloc-dev ships no CMake package file.
# Targets: HWLOC::hwloc   Variables: HWLOC_FOUND HWLOC_VERSION
include(FindPackageHandleStandardArgs)
find_path(HWLOC_INCLUDE_DIR hwloc.h)
find_library(HWLOC_LIBRARY NAMES hwloc)
if(HWLOC_INCLUDE_DIR)
  file(GLOB_RECURSE _hwloc_configs "${HWLOC_INCLUDE_DIR}/hwloc/autogen/config.h"
                                   "${HWLOC_INCLUDE_DIR}/${CMAKE_LIBRARY_ARCHITECTURE}/hwloc/autogen/config.h")
  foreach(_config IN LISTS _hwloc_configs)
    file(STRINGS "${_config}" _hwloc_v REGEX "^#define HWLOC_VERSION \"")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" HWLOC_VERSION "${_hwloc_v}")
  endforeach()
endif()
find_package_handle_standard_args(HWLOC REQUIRED_VARS HWLOC_INCLUDE_DIR HWLOC_LIBRARY VERSION_VAR HWLOC_VERSION)
if(HWLOC_FOUND AND NOT TARGET HWLOC::hwloc)
  add_library(HWLOC::hwloc SHARED IMPORTED)
  set_target_properties(HWLOC::hwloc PROPERTIES IMPORTED_LOCATION "${HWLOC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HWLOC_INCLUDE_DIR}")
endif()
