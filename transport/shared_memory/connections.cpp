// Who is connected with whom, and how a connection ends.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/shared_memory/local_transport.hpp"

namespace muster::shm {
namespace {

constexpr int kEventsMax = 32;
constexpr std::uint64_t kListener = 0;  // its number among the sockets

}  // namespace

SharedMemoryTransport::SharedMemoryTransport()
    : self_{this_host(), new_name()},
      listener_(listen_as(self_.name)),
      sockets_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!sockets_) throw Error("no file descriptor left for shared memory");
  watch(listener_, kListener);
}

// ---- connecting

void SharedMemoryTransport::connect(PeerId peer, const std::string& address) {
  const LocalAddress other = open_address(address);
  if (other.host != self_.host) throw Error("a process of another host");
  if (other == self_) throw Error("a transport cannot be connected to itself");
  const auto old = outgoing_.find(peer);
  MUSTER_CHECK(old == outgoing_.end() || old->second->failed, "connected twice: peer", peer);
  disconnect(peer);
  auto out = std::make_shared<Outgoing>();
  out->peer = peer;
  out->name = other.name;
  out->number = next_number_++;
  out->stream = out->number;
  for (const auto& [number, in] : incoming_) {
    if (in->name == other.name) pair(*in, *out);
  }
  if (dial(*out) != Dialed::yes) to_dial_ = true;  // who is not there is told of by progress
  outgoing_[peer] = std::move(out);
}

Dialed SharedMemoryTransport::dial(Outgoing& out) {
  const Dialed dialed = shm::dial(out.name, out.socket);
  if (dialed != Dialed::yes) return dialed;
  Hello hello;
  hello.stream = out.stream;
  hello.capacity = out.box.capacity();
  std::memcpy(hello.name, self_.name.data(), sizeof hello.name);
  if (!send_hello(out.socket, hello, out.box.descriptor())) {
    out.socket = Descriptor();
    return Dialed::nobody;
  }
  watch(out.socket, out.number);
  return dialed;
}

bool SharedMemoryTransport::dial_again() {
  if (!std::exchange(to_dial_, false)) return false;
  for (const auto& [peer, out] : std::map(outgoing_)) {
    if (out->socket || out->failed || out->closed) continue;
    Dialed dialed = Dialed::nobody;
    try {
      dialed = dial(*out);
    } catch (const Error& error) {  // no socket is left
      fail(out, error.what());
      continue;
    }
    to_dial_ = to_dial_ || dialed == Dialed::busy;
    if (dialed == Dialed::nobody) fail(out, "no process listens there any more");
  }
  return true;
}

void SharedMemoryTransport::disconnect(PeerId peer) {
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end()) return;
  const Out out = found->second;
  outgoing_.erase(found);
  out->closed = true;
  out->box.revoke();
  for (const BorrowedSend& borrowed : out->borrowed) ended_.add(peer, borrowed.token);
  for (const Pending& pending : out->queue) ended_.add(peer, pending.token);
  out->borrowed.clear();
  out->queue.clear();
  if (out->in == nullptr) return;
  Incoming& in = *out->in;
  if (!in.place.empty()) ended_.add(*in.frame);
  in.place = {};
  break_off(in);
}

SharedMemoryTransport::Out SharedMemoryTransport::outgoing_to(const std::string& name) const {
  for (const auto& [peer, out] : outgoing_) {
    if (out->name == name && !out->failed) return out;
  }
  return nullptr;
}

// ---- sockets

void SharedMemoryTransport::watch(const Descriptor& socket, std::uint64_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = number;
  MUSTER_CHECK(::epoll_ctl(sockets_.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0, number);
}

bool SharedMemoryTransport::look() {
  polls_ = 0;
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(sockets_.get(), events, kEventsMax, 0);
  look_ = count == kEventsMax;  // there may be more
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events[i].data.u64;
    if (number == kListener) {
      welcome();
    } else if (const auto in = incoming_.find(number); in != incoming_.end()) {
      hear(In(in->second));
    } else {
      // A socket that this side writes to is readable only when the other side is gone.
      const auto out = std::find_if(outgoing_.begin(), outgoing_.end(),
                                    [&](const auto& entry) { return entry.second->number == number; });
      if (out != outgoing_.end()) fail(Out(out->second), "the process has ended, or has let go of this one");
    }
  }
  if (accept_pause_.over(std::chrono::steady_clock::now()))
    listen_in(sockets_.get(), listener_.get(), kListener, true);
  return count > 0;
}

void SharedMemoryTransport::welcome() {
  std::string refused;
  while (Descriptor socket = accept_from(listener_, refused)) {
    accept_pause_.accepted();
    auto in = std::make_shared<Incoming>();
    in->socket = std::move(socket);
    in->number = next_number_++;
    watch(in->socket, in->number);
    incoming_[in->number] = std::move(in);
  }
  const int error = errno;
  if (!refused.empty()) return sink_->refused(refused);
  if (!AcceptPause::is_shortage(error)) return;
  listen_in(sockets_.get(), listener_.get(), kListener, false);
  if (accept_pause_.begin(std::chrono::steady_clock::now())) sink_->refused(AcceptPause::text(error));
}

void SharedMemoryTransport::hear(const In& in) {
  Heard heard = shm::hear(in->socket);
  if (in->box == nullptr && heard.hello) {
    try {
      begin(*in, *heard.hello, heard.memory);
      if (in->closed) return;
      heard = shm::hear(in->socket);
    } catch (const std::exception& error) {
      sink_->refused(error.what());
      return end(in);
    }
  }
  try {
    for (; heard.handed && in->box != nullptr; heard = shm::hear(in->socket)) in->keep(heard);
  } catch (const std::exception& error) {
    return refuse(in, error.what());
  }
  if (heard.cut_off)
    return refuse(in,
                  "memory that another process hands over cannot be taken: no file descriptor is left "
                  "(`ulimit -n`)");
  if (heard.strange || heard.hello || heard.handed)
    return refuse(in, "a message of another protocol on a socket for shared memory");
  if (!heard.ended) return;
  while (in->box != nullptr && !in->closed && read(in)) {  // what it said before it ended
  }
  end(in);
}

void SharedMemoryTransport::begin(Incoming& in, const Hello& hello, const Descriptor& memory) {
  in.box = std::make_unique<Inbox>(memory, hello.capacity);
  in.name.assign(hello.name, sizeof hello.name);
  in.stream = hello.stream;
  const Out out = outgoing_to(in.name);
  if (!out) return;
  if (out->in == nullptr) return pair(in, *out);
  fail(out, "the process has connected anew");  // and knows nothing of this connection any more
}

void SharedMemoryTransport::refuse(const In& in, const std::string& why) {
  sink_->refused(why);
  end(in);
}

// ---- ends

// Nothing of it is told any more.
void SharedMemoryTransport::break_off(Incoming& in) {
  in.closed = true;
  in.socket = Descriptor();  // at its end it would be readable for good
  if (in.back != nullptr) in.back->in = nullptr;
  in.back = nullptr;
  const std::uint64_t number = in.number;
  if (in.borrows.empty()) owners_.erase(number);
  incoming_.erase(number);
}

void SharedMemoryTransport::end(const In& in) {
  if (in->closed) return;
  const Out out = in->back != nullptr ? outgoing_to(in->name) : nullptr;
  const std::span<std::byte> place = std::exchange(in->place, {});
  break_off(*in);
  if (!place.empty()) sink_->dropped(*in->frame);
  if (out) fail(out, "the process has ended, or has let go of this one");
}

// The connection stays, and refuses all, until it is let go of.
void SharedMemoryTransport::fail(const Out& out, const std::string& reason) {
  if (out->failed || out->closed) return;
  if (out->in != nullptr) {
    const In in = incoming_.at(out->in->number);
    while (!in->closed && read(in)) {  // what it said before it ended
    }
    if (!in->closed) end(in);  // comes back here, without it
    if (out->failed || out->closed) return;
  }
  out->failed = true;
  out->box.revoke();
  out->socket = Descriptor();
  const auto borrowed = std::exchange(out->borrowed, {});
  const auto queue = std::exchange(out->queue, {});
  sink_->peer_failed(out->peer, reason);
  for (const BorrowedSend& borrow : borrowed) sink_->sent(out->peer, borrow.token, false);
  for (const Pending& pending : queue) sink_->sent(out->peer, pending.token, false);
}

}  // namespace muster::shm
