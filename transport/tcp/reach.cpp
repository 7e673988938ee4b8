#include "transport/tcp/reach.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/tcp/sockets.hpp"

namespace muster::tcp {
namespace {

using Clock = std::chrono::steady_clock;

struct Dial {
  std::size_t which;
  std::string where;
  Descriptor socket;
};

std::string text_of(const Address& address) {
  const bool six = address.ip.find(':') != std::string::npos;
  return (six ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

// Those that have answered, or have failed, are taken out.
void look(std::vector<Dial>& dials, std::vector<ClosedPort>& closed, int wait_ms) {
  std::vector<pollfd> polled;
  for (const Dial& each : dials) polled.push_back({each.socket.get(), POLLOUT, 0});
  if (::poll(polled.data(), polled.size(), wait_ms) <= 0) return;
  std::vector<Dial> open;
  for (std::size_t i = 0; i < dials.size(); ++i) {
    if (polled[i].revents == 0) {
      open.push_back(std::move(dials[i]));
      continue;
    }
    const int error = dial_error(dials[i].socket);
    if (error != 0) closed.push_back({dials[i].which, dials[i].where, std::strerror(error)});
  }
  dials = std::move(open);
}

}  // namespace

std::vector<ClosedPort> closed_ports(const std::vector<Address>& ports, std::chrono::milliseconds patience) {
  std::vector<ClosedPort> closed;
  std::vector<Dial> dials;
  for (std::size_t which = 0; which < ports.size(); ++which) {
    Dial started{which, text_of(ports[which]), dial(ports[which], false)};
    if (!started.socket) {
      closed.push_back({which, started.where, std::strerror(errno)});
    } else {
      dials.push_back(std::move(started));
    }
  }
  const auto until = Clock::now() + patience;
  while (!dials.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    look(dials, closed, static_cast<int>(left));
  }
  for (const Dial& open : dials)
    closed.push_back(
        {open.which, open.where, "no answer within " + std::to_string(patience.count()) + " ms"});
  std::ranges::sort(closed, {}, &ClosedPort::which);
  return closed;
}

}  // namespace muster::tcp
