# Runs the simulator over a range of seeds that is drawn from the checkout's commit: each commit has seeds of its own, and a
# run of it can be repeated.
#   cmake -DPROGRAM=... -DSOURCE=... -DARGUMENTS="--count;600" [-DTWICE=ON] -P seeds_of_commit.cmake
# TWICE: with one process and with two, whose traces must be the same: nothing of this machine goes into a run.
execute_process(COMMAND git -C "${SOURCE}" rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  message(STATUS "${SOURCE} is no git checkout: the range is drawn from the clock")
  string(TIMESTAMP commit "%s%f")
endif()
set(range --seeds-of ${commit})
if(TWICE)
  foreach(workers IN ITEMS 1 2)
    execute_process(COMMAND "${PROGRAM}" ${range} ${ARGUMENTS} --workers ${workers} OUTPUT_VARIABLE said
                    COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "trace [0-9a-f]+" trace_${workers} "${said}")
    message(STATUS "${workers} processes: ${trace_${workers}}")
  endforeach()
  if(NOT trace_1 OR NOT trace_1 STREQUAL trace_2)
    message(FATAL_ERROR "the same seeds have other traces: ${trace_1}, ${trace_2}")
  endif()
  return()
endif()
execute_process(COMMAND "${PROGRAM}" ${range} ${ARGUMENTS} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} has found something: ${failed}")
endif()
