#include "base/bounded/line_output.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/bounded/bounded_feed.hpp"

namespace muster {

namespace {

constexpr int kAtOnceMs = 200;
constexpr std::size_t kAtOncePart = 256;  // a descriptor that takes some may not take much

std::string left_out(std::uint64_t count) {
  return "muster: " + std::to_string(count) +
         " lines are left out here: for some time nothing could be printed (Ctrl-S, or a pipe that is not "
         "read)";
}

// Signals are for threads that wait for them. With SIGTTOU blocked, a terminal (`stty tostop`) does not stop
// a process in the background for what it prints.
void begin_thread() {
  ::prctl(PR_SET_NAME, "muster-print");
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

LineOutput::LineOutput(int descriptor, std::size_t waiting_max)
    : descriptor_(descriptor),
      feed_({[this](const std::string& line) { write_line(line); },
             [this](const std::string& line) { write_over(line); },
             [](std::uint64_t count, const std::string&) { return left_out(count); }, begin_thread},
            waiting_max) {}

void LineOutput::write_line(const std::string& line) {
  write((over_ ? "\r" : "") + line + (over_ ? "\x1b[K\n" : "\n"));
  over_ = false;
}

void LineOutput::write_over(const std::string& line) {
  if (!line.empty() || over_) write("\r" + line + "\x1b[K");
  over_ = !line.empty();
}

// Whoever has ended, or has no room, gets no more of it.
void LineOutput::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {  // another process has made it so
      pollfd writable{descriptor_, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

// Never destroyed: threads may print until the process is gone.
LineOutput& error_output() {
  static LineOutput* const output = [] {
    auto* made = new LineOutput(STDERR_FILENO);
    std::atexit(write_last_lines);
    return made;
  }();
  return *output;
}

void write_last_lines() {
  error_output().written_within(LineOutput::kLastLinesMax);
}

void print_at_once(std::string_view text) {
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  while (!text.empty() && ::poll(&writable, 1, kAtOnceMs) > 0 && (writable.revents & POLLOUT) != 0) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), std::min(text.size(), kAtOncePart));
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace muster
