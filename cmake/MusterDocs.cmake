# scripts/docs writes docs/reference/events.md and job.md: what the program prints. A test each compares them.
# The page of the job lists the models of libtorch, so it is checked where libtorch is in.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(pages events)
if(Torch_FOUND)
  list(APPEND pages job)
endif()
foreach(page IN LISTS pages)
  add_test(NAME docs.${page}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:muster_program>" "-DCOMMAND=${page}"
            "-DPAGE=${PROJECT_SOURCE_DIR}/docs/reference/${page}.md" -P "${PROJECT_SOURCE_DIR}/cmake/compare_page.cmake")
  set_tests_properties(docs.${page} PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 30)
endforeach()

# The tables of docs/measurements/scaling.md are printed from the measurements beside it.
add_test(NAME docs.scaling
  COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:muster_program>"
          "-DARGUMENTS=scaling$<SEMICOLON>--fit$<SEMICOLON>${PROJECT_SOURCE_DIR}/docs/measurements/scaling.jsonl"
          "-DPAGE=${PROJECT_SOURCE_DIR}/docs/measurements/scaling.md" -P "${PROJECT_SOURCE_DIR}/cmake/page_holds.cmake")
set_tests_properties(docs.scaling PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 180)

# So they do in an installation, and what is named there is there, or said to be elsewhere.
add_test(NAME docs.installed COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/scripts/installed_pages_test.py"
  "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}")
set_tests_properties(docs.installed PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 60)

# Links between the pages lead to files and headings that are there.
add_test(NAME docs.links COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/scripts/links_test.py" "${PROJECT_SOURCE_DIR}")
set_tests_properties(docs.links PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 30)
