#include "actors/preflight/check_here.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/bounded/line_output.hpp"

namespace muster {

namespace {
constexpr int kLookMs = 50;
}

CheckHere::CheckHere(Signals& signals, const CallNote& note)
    : signals_(signals), calls_(note), over_(::eventfd(0, EFD_CLOEXEC)) {
  if (over_ < 0) throw Error("no descriptor is left for signals");
  watcher_ = std::thread([this] { watch(); });
}

int CheckHere::finish() {
  if (watcher_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(over_, &one, sizeof one);
    watcher_.join();
  }
  return taken_;
}

void CheckHere::watch() {
  pollfd waits[] = {{signals_.descriptor(), POLLIN, 0}, {over_, POLLIN, 0}};
  while (waits[1].revents == 0) {
    ::poll(waits, 2, kLookMs);  // what is negative is passed over
    take();
    calls_.look();
    calls_.report();
  }
}

void CheckHere::take() {
  while (const int signal = signals_.take()) {
    if (taken_ > 0 && signal == SIGHUP) continue;  // a shell and the kernel both send it
    if (taken_ > 0) ::_exit(128 + signal);
    taken_ = signal;
    error_output().print(std::string("muster: ") + name_of_signal(signal) +
                         ": ends when the check of model and data is over; a second signal ends it at once");
  }
}

}  // namespace muster
