# libmuster: the objects of all rooms, one shared library. Its public headers need CAF only; what the rooms stand on stays
# behind it.
add_library(muster SHARED
  $<TARGET_OBJECTS:muster_base> $<TARGET_OBJECTS:muster_config> $<TARGET_OBJECTS:muster_transport> $<TARGET_OBJECTS:muster_gpu>
  ${MUSTER_KERNEL_OBJECTS}
  $<TARGET_OBJECTS:muster_actors> $<TARGET_OBJECTS:muster_cli>)
add_library(Muster::muster ALIAS muster)
target_compile_features(muster INTERFACE cxx_std_20)
set_target_properties(muster PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
target_include_directories(muster INTERFACE "$<BUILD_INTERFACE:${MUSTER_PUBLIC_HEADERS}>"
                                            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(muster PUBLIC CAF::io CAF::core Threads::Threads
  PRIVATE ucx::ucp ucx::ucs Boost::program_options nlohmann_json::nlohmann_json OpenSSL::Crypto ZLIB::ZLIB hwy::hwy HWLOC::hwloc ${CMAKE_DL_LIBS}
          tomlplusplus::tomlplusplus)
if(MUSTER_CUDA)
  target_link_libraries(muster PRIVATE ${MUSTER_CUDA_RUNTIME})
endif()

add_executable(muster_program cli/main.cpp)
set_target_properties(muster_program PROPERTIES OUTPUT_NAME muster)
target_link_libraries(muster_program PRIVATE muster muster_flags)
if(Torch_FOUND)
  add_dependencies(muster_program muster_torch)
endif()
