# Installs the Muster of MUSTER_BUILD into PREFIX.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${PREFIX}")
run(${CMAKE_COMMAND} --install "${MUSTER_BUILD}" --prefix "${PREFIX}")
run("${PREFIX}/bin/muster" --version)  # finds its library without LD_LIBRARY_PATH
