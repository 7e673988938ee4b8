// A socket that listens while no file descriptor, or no memory, is left for those who connect: it would be
// readable again and again. So it is not listened to for a while, and that is said once.
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace muster {

class AcceptPause {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kMin{50};
  static constexpr std::chrono::milliseconds kMax{1000};

  static bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  }
  static std::string text(int error) {
    return std::string("a process that connects is not let in: ") + std::strerror(error) +
           "; it is tried again. More file descriptors: `ulimit -n`";
  }

  /// Nobody could be let in. Whether that is to be said.
  bool begin(Time now) {
    until_ = now + wait_;
    paused_ = true;
    wait_ = std::min(2 * wait_, kMax);
    return !std::exchange(said_, true);
  }
  /// Somebody was let in.
  void accepted() {
    said_ = false;
    wait_ = kMin;
  }
  /// True once: it is time to listen again.
  bool over(Time now) { return paused_ && now >= until_ && std::exchange(paused_, false); }

 private:
  std::chrono::milliseconds wait_ = kMin;
  Time until_{};
  bool paused_ = false;
  bool said_ = false;
};

/// Whether the epoll instance tells of those who connect to this socket.
inline void listen_in(int sockets, int listener, std::uint64_t number, bool listens) {
  epoll_event event{};
  event.events = listens ? static_cast<std::uint32_t>(EPOLLIN) : 0;
  event.data.u64 = number;
  ::epoll_ctl(sockets, EPOLL_CTL_MOD, listener, &event);
}

}  // namespace muster
