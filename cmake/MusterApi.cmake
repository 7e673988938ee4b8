# The API reference: `ninja docs` writes it to build/docs, from the public headers and the pages of docs/. The test docs.api
# fails where a public name has no comment.
set(MUSTER_DOXYGEN OFF)
find_program(MUSTER_DOXYGEN_PROGRAM doxygen)
if(NOT MUSTER_DOXYGEN_PROGRAM)
  return()
endif()
set(MUSTER_DOXYGEN ON)
execute_process(COMMAND "${MUSTER_DOXYGEN_PROGRAM}" --version OUTPUT_VARIABLE MUSTER_DOXYGEN_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)

set(MUSTER_API_OUTPUT "${PROJECT_BINARY_DIR}/docs")
set(MUSTER_API_INPUT "${MUSTER_PUBLIC_HEADERS}/muster ${PROJECT_SOURCE_DIR}/docs")
set(MUSTER_API_MAINPAGE "${PROJECT_SOURCE_DIR}/docs/README.md")
set(MUSTER_API_HTML YES)
configure_file("${PROJECT_SOURCE_DIR}/cmake/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
add_custom_target(docs
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${MUSTER_API_OUTPUT}"
  COMMAND "${MUSTER_DOXYGEN_PROGRAM}" "${PROJECT_BINARY_DIR}/Doxyfile"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" COMMENT "Writing the API reference to ${MUSTER_API_OUTPUT}/index.html" VERBATIM)

if(MUSTER_TESTS)  # the headers alone, to a folder of its own: a matter of seconds
  set(MUSTER_API_OUTPUT "${PROJECT_BINARY_DIR}/docs-check")
  set(MUSTER_API_INPUT "${MUSTER_PUBLIC_HEADERS}/muster")
  set(MUSTER_API_MAINPAGE "")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile.check" @ONLY)
  file(MAKE_DIRECTORY "${MUSTER_API_OUTPUT}")
  add_test(NAME docs.api COMMAND "${MUSTER_DOXYGEN_PROGRAM}" "${PROJECT_BINARY_DIR}/Doxyfile.check")
  set_tests_properties(docs.api PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 60)
endif()
