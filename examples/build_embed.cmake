# Installs the Muster of MUSTER_BUILD into FOLDER/muster, and builds SOURCE against it in FOLDER/build.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags "")
if(SANITIZE STREQUAL "address")
  set(flags "-fsanitize=address,undefined")
elseif(SANITIZE STREQUAL "thread")
  set(flags "-fsanitize=thread")
endif()
file(REMOVE_RECURSE "${FOLDER}")
run(${CMAKE_COMMAND} --install "${MUSTER_BUILD}" --prefix "${FOLDER}/muster")
run("${FOLDER}/muster/bin/muster" --version)  # finds its library without LD_LIBRARY_PATH
run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${FOLDER}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_FLAGS=${flags}"
    "-DCMAKE_PREFIX_PATH=${FOLDER}/muster")
run(${CMAKE_COMMAND} --build "${FOLDER}/build")
