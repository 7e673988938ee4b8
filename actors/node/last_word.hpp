// What a process that no launcher reaps says before a crash ends it: by which signal, and in which call of a
// user's code.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "actors/user_calls/call_note.hpp"
#include "base/handler_text.hpp"

namespace muster {

/// As long as it lives, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT (also of std::terminate) print one line
/// on stderr, are handed to the thread that takes them here, and then end the process as they would have. One
/// object at a time, made before the threads that may crash.
class LastWord {
 public:
  /// So long a thread that crashes waits for the others to be told.
  static constexpr std::chrono::milliseconds kTellMax{1000};

  /// `begins`: of the line that is printed, as in "muster join: ".
  LastWord(std::shared_ptr<const CallNote> note, std::string begins);
  ~LastWord();
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;

  /// Of a thread whose stack may overflow: handlers run on another one.
  static void use_signal_stack();

  /// Once, when another thread has crashed: "process 7 was ended by signal 11 (Segmentation fault) in
  /// gradient() of model 'x' (step 3, shard 1)".
  std::optional<std::string> take();
  /// Where a thread has crashed, and the others have been told: lets it end the process. Returns where none
  /// has.
  void end_if_crashed();

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

  static void on_signal(int signal, siginfo_t* info, void* context);
  void speak(int signal);
  void pass_on(int signal, siginfo_t* info, void* context) const;

  static inline std::atomic<LastWord*> one_{nullptr};  // a handler reaches nothing else
  const std::shared_ptr<const CallNote> note_;
  const std::string begins_;
  std::array<struct sigaction, kSignals.size()> before_{};
  HandlerText text_;
  std::atomic<int> thread_{0};  // that has crashed
  std::atomic<bool> said_ = false, told_ = false;
  bool taken_ = false;
};

}  // namespace muster
