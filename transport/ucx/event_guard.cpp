// Keeps a bug of UCX's TCP transport (seen in 1.13.1; the code is the same in 1.19) from ending the process.
//
// uct_tcp_iface_handle_events() handles "readable", then "writable" of a connection. If both sides cut a
// connection at about the same time and this side still has bytes to write, what is read is the peer's
// farewell: it frees the connection, which "writable" then uses. Under traffic that hits one mutual cut in
// five.
//
// So no handler gets both events in one call. libuct takes ucs_event_set_wait() from the first library that
// defines it, and libmuster comes before libucs: this definition hands out one of the two, by chance so that
// neither starves. The sets are level-triggered: the other event is still there at the next call, which is
// what a slightly later system call could have returned anyway.
#include <dlfcn.h>
#include <ucs/sys/event_set.h>

#include <cstdint>

#include "base/check.hpp"

namespace {

struct Call {
  ucs_event_set_handler_t handler;
  void* arg;
};

bool coin() {
  thread_local std::uint32_t state = 1;
  state = state * 1664525 + 1013904223;  // a linear congruential generator; its top bit is good enough
  return (state >> 31) != 0;
}

void pass_on(void* connection, ucs_event_set_types_t events, void* call) {
  constexpr unsigned kBoth = UCS_EVENT_SET_EVREAD | UCS_EVENT_SET_EVWRITE;
  unsigned left_out = 0;
  if ((events & kBoth) == kBoth) left_out = coin() ? UCS_EVENT_SET_EVREAD : UCS_EVENT_SET_EVWRITE;
  const Call& original = *static_cast<const Call*>(call);
  original.handler(connection, static_cast<ucs_event_set_types_t>(events & ~left_out), original.arg);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ucs_status_t ucs_event_set_wait(
    ucs_sys_event_set_t* event_set, unsigned* num_events, int timeout_ms, ucs_event_set_handler_t handler,
    void* arg) {
  static const auto next =
      reinterpret_cast<decltype(&ucs_event_set_wait)>(dlsym(RTLD_NEXT, "ucs_event_set_wait"));
  MUSTER_CHECK(next != nullptr, "libucs has no ucs_event_set_wait");
  Call call{handler, arg};
  return next(event_set, num_events, timeout_ms, &pass_on, &call);
}
