# What an installation has for people: documents, examples, completion, and man pages, which are made of what --help prints.
foreach(place IN ITEMS "INCLUDES ${CMAKE_INSTALL_INCLUDEDIR}/muster" "SHARE ${CMAKE_INSTALL_DATADIR}/muster")
  separate_arguments(place)
  list(GET place 0 name)
  list(GET place 1 folder)
  file(RELATIVE_PATH folder "/${CMAKE_INSTALL_DOCDIR}" "/${folder}")
  string(APPEND page_places " \"-D${name}=${folder}\"")
endforeach()
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\" ${page_places}
  \"-DTARGET=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\" -P \"${PROJECT_SOURCE_DIR}/cmake/install_pages.cmake\"
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples/" DESTINATION "${CMAKE_INSTALL_DATADIR}/muster/examples" USE_SOURCE_PERMISSIONS)
# Named by pages for people who have an installation alone.
install(FILES "${PROJECT_SOURCE_DIR}/scripts/packages.txt" "${PROJECT_SOURCE_DIR}/tests/pytorch/reader.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/muster")
install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/muster" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")

set(MUSTER_MANUAL OFF)
find_program(MUSTER_HELP2MAN help2man)
if(NOT MUSTER_HELP2MAN OR MUSTER_SANITIZE)
  return()
endif()
set(MUSTER_MANUAL ON)
set(pages "")
# muster_page(<page> <what follows the program's name, a blank behind it> <summary>)
function(muster_page page command summary)
  set(output "${PROJECT_BINARY_DIR}/man/${page}.1")
  set(named "${PROJECT_BINARY_DIR}/man/${page}")  # the page is called as the program that prints its help
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/man"
    COMMAND "${CMAKE_COMMAND}" -E create_symlink $<TARGET_FILE:muster_program> "${named}"
    COMMAND "${MUSTER_HELP2MAN}" --no-info --no-discard-stderr "--name=${summary}" "--help-option=${command}--help"
            "--version-string=${PROJECT_VERSION}" "--output=${output}" "${named}"
    DEPENDS muster_program VERBATIM COMMENT "Making the man page of ${page}")
  set(pages "${pages};${output}" PARENT_SCOPE)
endfunction()
muster_page(muster "" "distributed training with actors")
muster_page(muster-run "run " "train a job, and report")
muster_page(muster-coordinate "coordinate " "train on machines that join by hand")
muster_page(muster-join "join " "add this machine to a run")
muster_page(muster-status "status " "how a run stands that is under way")
muster_page(muster-stop "stop " "end a run, with a last checkpoint")
muster_page(muster-plan "plan " "show what a job would run")
muster_page(muster-check "check " "check the model and the data of a job")
muster_page(muster-devices "devices " "list what this machine can compute on")
muster_page(muster-bench-allreduce "bench allreduce " "measure the reduction")
muster_page(muster-bench-step "bench step " "measure the cost of an empty step")
muster_page(muster-scaling "scaling " "predict the time of a step on many replicas")
install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
set(references "")
# muster_reference(<command> <summary> <text>): muster-<command>(5), of all that this command prints
function(muster_reference command summary about)
  set(output "${PROJECT_BINARY_DIR}/man/muster-${command}.5")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/man"
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:muster_program>" "-DCOMMAND=${command}" "-DAWK=${MUSTER_AWK}"
            "-DNAME=muster-${command}" "-DVERSION=${PROJECT_VERSION}" "-DSUMMARY=${summary}" "-DABOUT=${about}"
            "-DOUTPUT=${output}" -P "${PROJECT_SOURCE_DIR}/cmake/man_reference.cmake"
    DEPENDS muster_program "${PROJECT_SOURCE_DIR}/cmake/man_reference.cmake" "${PROJECT_SOURCE_DIR}/cmake/man_reference.awk"
    VERBATIM COMMENT "Making the man page of muster-${command}")
  set(references "${references};${output}" PARENT_SCOPE)
endfunction()
find_program(MUSTER_AWK awk)
if(MUSTER_AWK)
  muster_reference(job "the job file of Muster"
    "A job file is TOML. It says what is trained, and on what. Each key may be overridden: --set table.key=value.")
  muster_reference(events "the events of a run of Muster"
    "A run raises events: --events FILE writes each as one line of JSON, and the report has them, too.")
  install(FILES ${references} DESTINATION "${CMAKE_INSTALL_MANDIR}/man5")
endif()
add_custom_target(muster_manual ALL DEPENDS ${pages} ${references})
