# Fails unless PAGE holds, in one piece, what PROGRAM prints with ARGUMENTS.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${PAGE}" page)
string(FIND "${page}" "${printed}" found)
if(printed STREQUAL "" OR found EQUAL -1)
  message(FATAL_ERROR "${PAGE} does not hold what `muster ${ARGUMENTS}` prints; run scripts/docs")
endif()
