#include "actors/user_calls/exit_guard.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/bounded/line_output.hpp"

namespace muster {

namespace {

thread_local const ExitGuard* call_of_thread = nullptr;
std::once_flag exit_is_guarded;

}  // namespace

ExitGuard::ExitGuard(const CallText& what, std::uint64_t one, std::uint64_t two)
    : what_(what), one_(one), two_(two), outer_(call_of_thread) {
  std::call_once(exit_is_guarded, [] {
    std::atexit(&ExitGuard::end);
    std::at_quick_exit(&ExitGuard::end);
  });
  call_of_thread = this;
}

ExitGuard::~ExitGuard() {
  call_of_thread = outer_;
}

// Runs in the thread that has called exit(). Other threads run on, so what statics hold is left as it is.
void ExitGuard::end() {
  const ExitGuard* const call = call_of_thread;
  if (!call) return;
  std::fflush(stdout);
  print_at_once("muster: the program called exit() in " + call->what_.text(call->one_, call->two_) +
                ": a model or source reports an error by an exception. The process ends with code " +
                std::to_string(kCode) + "\n");
  ::_exit(kCode);
}

}  // namespace muster
