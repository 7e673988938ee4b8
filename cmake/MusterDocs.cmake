# docs/events.md and docs/job.md are what the program prints (scripts/docs writes them); a test each says when they are not.
# The page of the job lists the models of libtorch, so it is checked where libtorch is in.
set(pages events)
if(Torch_FOUND)
  list(APPEND pages job)
endif()
foreach(page IN LISTS pages)
  add_test(NAME docs.${page}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:muster_program>" "-DCOMMAND=${page}"
            "-DPAGE=${PROJECT_SOURCE_DIR}/docs/${page}.md" -P "${PROJECT_SOURCE_DIR}/cmake/compare_page.cmake")
  set_tests_properties(docs.${page} PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 30)
endforeach()

# The tables of docs/scaling.md are printed from the measurements beside it.
add_test(NAME docs.scaling
  COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:muster_program>"
          "-DARGUMENTS=scaling$<SEMICOLON>--fit$<SEMICOLON>${PROJECT_SOURCE_DIR}/docs/scaling.jsonl"
          "-DPAGE=${PROJECT_SOURCE_DIR}/docs/scaling.md" -P "${PROJECT_SOURCE_DIR}/cmake/page_holds.cmake")
set_tests_properties(docs.scaling PROPERTIES LABELS "docs;no_sanitizer" TIMEOUT 180)
