// Signals that ask a process to end, for a thread that waits for more than them.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "muster/error.hpp"

namespace muster {

/// A limit on files, and a pipe whose reader has ended, are errors of the write: Ctrl-C ends the `tee` behind
/// a run, too.
inline void take_errors_for_signals() {
  struct sigaction children {};  // ignored: the kernel keeps from this process how they end
  ::sigaction(SIGCHLD, nullptr, &children);
  if (children.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

inline const char* name_of_signal(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGHUP ? "SIGHUP" : "SIGTERM";
}

/// Whether a signal is the one before once more: a terminal sends Ctrl-C to a whole process group, and
/// `timeout --foreground`, a shell or a launcher in it pass theirs on. Who wants the second one to count
/// waits longer than that.
class SignalEchoes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kEcho{500};

  bool is_echo(int signal, Time now) {
    const bool echo = signal == last_ && now - at_ < kEcho;
    if (!echo) last_ = signal, at_ = now;
    return echo;
  }

 private:
  int last_ = 0;
  Time at_{};
};

/// SIGINT, SIGTERM and SIGHUP (a terminal or an ssh that is gone; not under nohup) as a descriptor, as long
/// as this lives; one object at a time. A handler and a pipe, not a signalfd: libraries start threads of
/// their own while they are loaded, in which the signals are not blocked.
class Signals {
 public:
  explicit Signals(bool wanted) {
    if (!wanted) return;
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("no descriptor is left for signals");
    pipe_end_.store(pipe_[1]);
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const auto byte = static_cast<unsigned char>(signal);
      [[maybe_unused]] const auto written = ::write(pipe_end_.load(), &byte, 1);
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &before_[0]);
    ::sigaction(SIGTERM, &action, &before_[1]);
    ::sigaction(SIGHUP, nullptr, &before_[2]);
    if (before_[2].sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  }
  ~Signals() {
    if (descriptor() < 0) return;
    ::sigaction(SIGINT, &before_[0], nullptr);
    ::sigaction(SIGTERM, &before_[1], nullptr);
    ::sigaction(SIGHUP, &before_[2], nullptr);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return pipe_[0]; }
  /// The next one, echoes left out; 0: there is none.
  int take() {
    unsigned char signal = 0;
    while (descriptor() >= 0 && ::read(descriptor(), &signal, 1) == 1) {
      if (!echoes_.is_echo(signal, std::chrono::steady_clock::now())) return signal;
    }
    return 0;
  }

 private:
  static inline std::atomic<int> pipe_end_{-1};  // a handler reaches nothing else
  struct sigaction before_[3]{};
  int pipe_[2] = {-1, -1};
  SignalEchoes echoes_;
};

}  // namespace muster
