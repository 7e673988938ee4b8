# What every target is built with.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

option(MUSTER_TESTS "build the tests and register the examples" ON)
option(MUSTER_WERROR "treat warnings as errors" OFF)
set(MUSTER_SANITIZE "" CACHE STRING "empty, address (ASan and UBSan), thread (TSan), or fuzzer (libFuzzer, ASan and UBSan)")
set_property(CACHE MUSTER_SANITIZE PROPERTY STRINGS "" address thread fuzzer)

# What is built with a precompiled header is cached only where ccache is told that this is safe. Other checkouts of the same sources
# find what this one has compiled.
find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${MUSTER_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${launcher}")
endif()

# Several files compiled as one: everything is built in half the time, one changed file in three times. The scripts build so;
# a contributor's own folder need not (CONTRIBUTING.md). ON where a sanitizer is.
if(MUSTER_SANITIZE)
  set(several ON)
else()
  set(several OFF)
endif()
option(MUSTER_UNITY "compile several files as one: sooner for everything, later for one changed file" ${several})

# muster_has_canaries(<file> <variable>): whether a file of the product asks for one of the simulator's deliberate bugs.
function(muster_has_canaries file variable)
  file(STRINGS "${file}" asks REGEX "canary\\(\"")
  set(${variable} "${asks}" PARENT_SCOPE)
endfunction()

# muster_several_files_at_once(<target>): with MUSTER_UNITY. A file's name says with which others it is compiled: one more file
# moves no other, until there are so many that the number of groups doubles. Files with canaries stay among themselves:
# muster-sim-canary has its own objects of these.
function(muster_several_files_at_once target)
  if(NOT MUSTER_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  set(groups 1)
  while(groups LESS 16 AND count GREATER 8)
    math(EXPR groups "${groups} * 2")
    math(EXPR count "${count} / 2")
  endwhile()
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE)
    file(RELATIVE_PATH name "${CMAKE_SOURCE_DIR}" "${source}")
    string(MD5 hash "${name}")
    string(SUBSTRING "${hash}" 0 1 digit)
    math(EXPR group "0x${digit} % ${groups}")
    muster_has_canaries("${source}" canaries)
    if(canaries)
      math(EXPR group "${group} % 4")
      set(group "canaries_${group}")
    endif()
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
endfunction()

function(muster_checks_alignment target)
  if(MUSTER_SANITIZE STREQUAL "address")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=alignment>")
  endif()
endfunction()

add_library(muster_flags INTERFACE)
# The contract of the mathematics: no contraction that one twin has and the other has not, no fast-math.
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
target_compile_options(muster_flags INTERFACE -Wno-missing-field-initializers)  # members have their values where they are declared
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(muster_flags INTERFACE -Wno-restrict)  # g++ 12 finds overlaps in string additions (bug 105651)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # an access without the mutex that guards it is an error: base/mutex.hpp
  target_compile_options(muster_flags INTERFACE -Wthread-safety -Wthread-safety-beta -Werror=thread-safety)
endif()
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE -Werror)
endif()

# The same for kernels. Their host side is compiled by nvcc's own choice of a compiler, which knows no sanitizer of ours.
add_library(muster_cuda_flags INTERFACE)
target_compile_options(muster_cuda_flags INTERFACE --fmad=false -prec-div=true -prec-sqrt=true -ftz=false
  "-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter,-ffp-contract=off")
if(MUSTER_WERROR)
  target_compile_options(muster_cuda_flags INTERFACE -Werror=all-warnings)
endif()

# Options of C++ only: nvcc would not know them.
function(muster_cxx_options)
  foreach(option IN LISTS ARGN)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
endfunction()

if(MUSTER_SANITIZE STREQUAL "address")
  # Without three of UBSan's checks, which take more than a third of the time to compile. `null` and `vptr`: ASan ends at an access
  # through null, or to what is gone. `alignment`: only where frames and tensors are read in place (muster_checks_alignment).
  muster_cxx_options(-fsanitize=address,undefined -fno-sanitize=null,vptr,alignment -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(MUSTER_SANITIZE STREQUAL "thread")
  muster_cxx_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(MUSTER_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MUSTER_SANITIZE=fuzzer needs clang++: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  muster_cxx_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # an index beyond a vector's end is found where it happens
  add_link_options(-fsanitize=address,undefined)
elseif(MUSTER_SANITIZE)
  message(FATAL_ERROR "MUSTER_SANITIZE is '${MUSTER_SANITIZE}'; allowed: empty, address, thread, fuzzer")
endif()

# An include names the file where it lies: "muster/<file>.hpp" is one of the public headers in include/, all others are named from
# the top of the sources.
set(MUSTER_PUBLIC_HEADERS "${CMAKE_SOURCE_DIR}/include")
set(MUSTER_INCLUDE_ROOTS "${CMAKE_SOURCE_DIR}" "${MUSTER_PUBLIC_HEADERS}")

# muster_room(<name> [DEPENDS target...] [COMPUTES]): the objects of one room, from every .cpp below its folder. COMPUTES: it has
# loops over elements, and is built with the whole of Release's -O3; the others are built a fifth sooner with -O2.
function(muster_room name)
  cmake_parse_arguments(ARG "COMPUTES" "" "DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(muster_${name} OBJECT ${sources})
  muster_several_files_at_once(muster_${name})
  if(NOT ARG_COMPUTES)
    target_compile_options(muster_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  target_include_directories(muster_${name} PUBLIC ${MUSTER_INCLUDE_ROOTS})
  target_link_libraries(muster_${name} PRIVATE muster_flags PUBLIC ${ARG_DEPENDS})
endfunction()
