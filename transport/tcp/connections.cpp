// Who is connected with whom, and how a connection ends.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/tcp/socket_transport.hpp"

namespace muster {
namespace tcp {
namespace {

constexpr int kEventsMax = 64;
constexpr std::uint64_t kListener = 0;  // its number among the sockets
constexpr std::uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr auto kCheckEvery = std::chrono::milliseconds(100);
constexpr char kGone[] = "the process has ended, or has let go of this one";

Time now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

SocketTransport::SocketTransport(const TcpOptions& options)
    : options_(options),
      self_{shm::new_name(), {}, 0},
      thrown_away_(64 << 10),
      listener_(listen_at(options.listen, options.first_port, options.last_port, self_)),
      sockets_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!sockets_) throw Error("no file descriptor left for TCP");
  watch(listener_, kListener, EPOLLIN);
}

// ---- connecting

void SocketTransport::connect(PeerId peer, const std::string& address) {
  const Address other = open_address(address);
  if (other == self_) throw Error("a transport cannot be connected to itself");
  const auto old = outgoing_.find(peer);
  MUSTER_CHECK(old == outgoing_.end() || old->second->failed, "connected twice: peer", peer);
  disconnect(peer);
  auto out = std::make_shared<Outgoing>();
  out->peer = peer;
  out->name = other.name;
  out->number = next_number_++;
  dial(out, other);
  for (const auto& [number, in] : incoming_) {
    if (in->name == other.name) pair(*in, *out);
  }
  outgoing_[peer] = std::move(out);
}

void SocketTransport::dial(const Out& out, const Address& address) {
  out->socket = tcp::dial(address, address.ip == self_.ip);
  if (!out->socket) {  // who cannot be reached is told of by progress
    lost_.emplace_back(out, std::strerror(errno));
    return;
  }
  end_after_silence(out->socket, options_.silence_max);
  out->give_up = now() + options_.greeting_max;
  greeting_ = true;
  dialed_[out->number] = out;
  watch(out->socket, out->number, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

// The other side has accepted.
void SocketTransport::greet(const Out& out) {
  Hello hello;
  std::memcpy(hello.from, self_.name.data(), sizeof hello.from);
  std::memcpy(hello.to, out->name.data(), sizeof hello.to);
  if (::send(out->socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return fail(out, kGone);
  out->greeted = true;
  out->writable = true;
  list(out);
}

void SocketTransport::disconnect(PeerId peer) {
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end()) return;
  const Out out = found->second;
  outgoing_.erase(found);
  dialed_.erase(out->number);
  out->closed = true;
  out->socket = Descriptor();
  for (const Pending& pending : out->queue) ended_.add(peer, pending.token);
  out->queue.clear();
  if (out->in == nullptr) return;
  Incoming& in = *out->in;
  if (!in.place.empty()) ended_.add(*in.frame);
  in.place = {};
  break_off(in);
}

void SocketTransport::pair(Incoming& in, Outgoing& out) {
  if (out.in != nullptr) out.in->back = nullptr;
  out.in = &in;
  in.back = &out;
}

SocketTransport::Out SocketTransport::outgoing_to(const std::string& name) const {
  for (const auto& [peer, out] : outgoing_) {
    if (out->name == name && out->open()) return out;
  }
  return nullptr;
}

// ---- sockets

void SocketTransport::watch(const Descriptor& socket, std::uint64_t number, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  MUSTER_CHECK(::epoll_ctl(sockets_.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0, number);
}

bool SocketTransport::look() {
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(sockets_.get(), events, kEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events[i].data.u64;
    if (number == kListener) {
      welcome();
    } else if (const auto in = incoming_.find(number); in != incoming_.end()) {
      in->second->readable = true;
      in->second->ending = in->second->ending || (events[i].events & kEnds) != 0;
      list(in->second);
    } else if (const auto found = dialed_.find(number); found != dialed_.end()) {
      look_at(Out(found->second), events[i].events);
    }
  }
  all_seen_ = count < kEventsMax;
  if (accept_pause_.over(now())) listen_in(sockets_.get(), listener_.get(), kListener, true);
  return count > 0;
}

// Nobody says anything on a socket that this side writes to: it is readable only when the other side is gone.
void SocketTransport::look_at(const Out& out, std::uint32_t events) {
  if (out->greeted && (events & (EPOLLIN | kEnds)) != 0) {
    const int error = dial_error(out->socket);
    return fail(out, error == 0 ? kGone : std::string("its connection has failed: ") + std::strerror(error));
  }
  if (!out->greeted) {
    const int error = dial_error(out->socket);
    if (error != 0) return fail(out, std::string("it cannot be reached: ") + std::strerror(error));
    if ((events & EPOLLOUT) != 0) greet(out);
    return;
  }
  out->writable = true;
  list(out);
}

void SocketTransport::welcome() {
  while (Descriptor socket = accept_from(listener_)) {
    accept_pause_.accepted();
    if (strangers_ >= options_.strangers_max) {
      sink_->refused("too many connect over TCP without saying who they are");
      continue;
    }
    end_after_silence(socket, options_.silence_max);
    auto in = std::make_shared<Incoming>();
    in->socket = std::move(socket);
    in->number = next_number_++;
    in->give_up = now() + options_.greeting_max;
    ++strangers_;
    greeting_ = true;
    watch(in->socket, in->number, EPOLLIN | EPOLLRDHUP | EPOLLET);
    incoming_[in->number] = std::move(in);
  }
  if (!AcceptPause::is_shortage(errno)) return;
  const int error = errno;
  listen_in(sockets_.get(), listener_.get(), kListener, false);
  if (accept_pause_.begin(now())) sink_->refused(AcceptPause::text(error));
}

// Whether all that dial, or have connected, have come to know each other in time.
void SocketTransport::check_greetings() {
  const Time at = now();
  if (at < next_check_) return;
  next_check_ = at + kCheckEvery;
  std::vector<Out> silent;
  greeting_ = strangers_ > 0;
  for (const auto& [number, out] : dialed_) {
    greeting_ = greeting_ || !out->greeted;
    if (!out->greeted && at > out->give_up) silent.push_back(out);
  }
  std::vector<In> nameless;
  for (const auto& [number, in] : incoming_) {
    if (in->name.empty() && at > in->give_up) nameless.push_back(in);
  }
  for (const In& in : nameless) refuse(in, "a process that connects over TCP and does not say who it is");
  for (const Out& out : silent) fail(out, "it does not answer");
}

// The first message of another process. False: it is none.
bool SocketTransport::begin(const In& in) {
  Hello hello;
  std::memcpy(&hello, in->buffer.data(), sizeof hello);
  in->begin = sizeof hello;
  if (hello.magic != Hello::kMagic || std::string_view(hello.to, kNameBytes) != self_.name) {
    refuse(in, "a message of another protocol, or to another process, over TCP");
    return false;
  }
  in->name.assign(hello.from, sizeof hello.from);
  --strangers_;
  const Out out = outgoing_to(in->name);
  if (!out) return true;
  if (out->in != nullptr)
    fail(out, "the process has connected anew");  // and knows no more of this connection
  else
    pair(*in, *out);
  return !in->closed;
}

// ---- ends

void SocketTransport::refuse(const In& in, const std::string& why) {
  if (in->closed) return;
  sink_->refused(why);
  end(in);
}

// Nothing of it is told any more.
void SocketTransport::break_off(Incoming& in) {
  in.closed = true;
  in.socket = Descriptor();
  if (in.name.empty()) --strangers_;
  if (in.back != nullptr) in.back->in = nullptr;
  in.back = nullptr;
  incoming_.erase(in.number);
}

void SocketTransport::end(const In& in) {
  if (in->closed) return;
  const Out out = in->back != nullptr ? outgoing_to(in->name) : nullptr;
  const std::span<std::byte> place = std::exchange(in->place, {});
  break_off(*in);
  if (!place.empty()) sink_->dropped(*in->frame);
  if (out) fail(out, kGone);
}

// The connection stays, and refuses all, until it is let go of.
void SocketTransport::fail(const Out& out, const std::string& reason) {
  if (!out->open()) return;
  if (out->in != nullptr) {
    const In in = incoming_.at(out->in->number);
    drain(in);  // what it said before it ended
    end(in);    // comes back here, without it
    if (!out->open()) return;
  }
  out->failed = true;
  out->socket = Descriptor();
  dialed_.erase(out->number);
  const auto queue = std::exchange(out->queue, {});
  sink_->peer_failed(out->peer, reason);
  for (const Pending& pending : queue) sink_->sent(out->peer, pending.token, false);
}

bool SocketTransport::report_ends() {
  if (!ended_.report(*sink_) && lost_.empty()) return false;
  for (const auto& [out, why] : std::exchange(lost_, {})) fail(out, "it cannot be reached: " + why);
  return true;
}

}  // namespace tcp

std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options) {
  return std::make_unique<tcp::SocketTransport>(options);
}

}  // namespace muster
