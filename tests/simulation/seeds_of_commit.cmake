# Runs the simulator over a range of seeds that is drawn from the checkout's commit: each commit has seeds of its own, and a
# run of it can be repeated.
#   cmake -DPROGRAM=... -DSOURCE=... -DARGUMENTS="--count;600" -P seeds_of_commit.cmake
execute_process(COMMAND git -C "${SOURCE}" rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  message(STATUS "${SOURCE} is no git checkout: the range is drawn from the clock")
  set(range)
else()
  set(range --seeds-of ${commit})
endif()
execute_process(COMMAND "${PROGRAM}" ${range} ${ARGUMENTS} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} has found something: ${failed}")
endif()
