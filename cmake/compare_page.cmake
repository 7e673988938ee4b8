# Fails unless `PROGRAM COMMAND --markdown` prints what PAGE holds.
execute_process(COMMAND "${PROGRAM}" "${COMMAND}" --markdown OUTPUT_FILE "${COMMAND}.page" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files "${COMMAND}.page" "${PAGE}" RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "${PAGE} is not what `muster ${COMMAND} --markdown` prints; run scripts/docs")
endif()
