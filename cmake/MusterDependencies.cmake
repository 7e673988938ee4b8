# Everything that Muster stands on. Required: CAF, UCX, Boost, nlohmann-json, toml++, OpenSSL, zlib. Optional parts are
# recorded in MUSTER_PARTS for the table at the end.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CAF 0.17.6 REQUIRED COMPONENTS core io openssl)
find_package(ucx REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)

find_package(Torch QUIET)
find_package(CUDAToolkit QUIET)
find_package(benchmark QUIET)
if(MUSTER_TESTS)
  find_package(GTest REQUIRED)
endif()
