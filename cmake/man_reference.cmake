# Writes a man page of section 5 from what PROGRAM prints for COMMAND ("job" or "events").
execute_process(
  COMMAND "${PROGRAM}" "${COMMAND}"
  COMMAND "${AWK}" -v "kind=${COMMAND}" -v "page=${NAME}" -v "version=${VERSION}" -v "summary=${SUMMARY}" -v "about=${ABOUT}"
          -f "${CMAKE_CURRENT_LIST_DIR}/man_reference.awk"
  OUTPUT_FILE "${OUTPUT}" COMMAND_ERROR_IS_FATAL ANY)
