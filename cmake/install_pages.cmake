# Copies the pages of SOURCE (README.md and docs/) to TARGET, flat, with links that hold there: to headers and examples where
# they are installed (INCLUDES and EXAMPLES, as seen from TARGET); a link to what is not installed becomes its text.
function(copy_page page)
  file(READ "${page}" text)
  set(up "(\\.\\./)?")
  string(REGEX REPLACE "\\]\\(docs/" "](" text "${text}")
  string(REGEX REPLACE "\\]\\(${up}include/muster/([^)]*\\.hpp)\\)" "](${INCLUDES}/\\2)" text "${text}")
  string(REGEX REPLACE "\\]\\(${up}examples([/)])" "](${EXAMPLES}\\2" text "${text}")
  string(REGEX REPLACE "\\[([^]\n]*)\\]\\(${up}((actors|base|cli|cmake|config|gpu|include|scripts|tests|transport)/[^)]*|(CHANGELOG|CONTRIBUTING)\\.md)\\)" "\\1" text "${text}")
  get_filename_component(name "${page}" NAME)
  file(WRITE "${TARGET}/${name}" "${text}")
endfunction()

file(GLOB pages "${SOURCE}/README.md" "${SOURCE}/docs/*.md")
foreach(page IN LISTS pages)
  copy_page("${page}")
endforeach()
