# Installs the Muster of MUSTER_BUILD into PREFIX.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${PREFIX}")
run(${CMAKE_COMMAND} --install "${MUSTER_BUILD}" --prefix "${PREFIX}")
run("${PREFIX}/bin/muster" --version)  # finds its library without LD_LIBRARY_PATH

# What people look for in an installation.
set(wanted share/doc/Muster/index.md share/doc/Muster/reference/job.md share/muster/examples/embed/main.cpp
    share/bash-completion/completions/muster)
if(MANUAL)
  list(APPEND wanted share/man/man1/muster.1 share/man/man1/muster-check.1)
endif()
foreach(file IN LISTS wanted)
  if(NOT EXISTS "${PREFIX}/${file}")
    message(FATAL_ERROR "${PREFIX}/${file} was not installed")
  endif()
endforeach()

# apropos finds a page by the name that man shows it under.
if(MANUAL)
  file(STRINGS "${PREFIX}/share/man/man1/muster-stop.1" name REGEX "^muster-stop ")
  if(NOT name)
    message(FATAL_ERROR "the man page muster-stop calls itself something else")
  endif()
endif()

# Where the links of the pages lead to there is something.
file(GLOB_RECURSE documents "${PREFIX}/share/doc/*.md")
foreach(page IN LISTS documents)
  file(READ "${page}" text)
  string(REPLACE "](" "\n@" text "${text}")
  string(REGEX REPLACE "[][]" "" text "${text}")  # they are not for lists
  string(REGEX MATCHALL "\n@[^)#:\n]+[)#]" links "${text}")
  get_filename_component(folder "${page}" DIRECTORY)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\n@(.*)[)#]$" "\\1" target "${link}")
    if(NOT EXISTS "${folder}/${target}")
      message(FATAL_ERROR "${page} has a link to ${target}, which is not there")
    endif()
  endforeach()
endforeach()

# complete(<expected> <word>...): what the completion makes of this command line.
function(complete expected)
  list(LENGTH ARGN last)
  list(JOIN ARGN " " words)
  execute_process(
    COMMAND bash -c "source '${PREFIX}/share/bash-completion/completions/muster'; COMP_WORDS=('${PREFIX}/bin/muster' ${words}); COMP_CWORD=${last}; _muster; echo \"\${COMPREPLY[*]}\""
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "'muster ${words}' is completed to '${found}' instead of '${expected}'")
  endif()
endfunction()
complete("check" che)
complete("--report" run --repo)
