// What is said over a connection: frames and payloads, cut into pieces by the room there is.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "muster/config/check.hpp"
#include "muster/transport/shared_memory/local_transport.hpp"
#include "muster/transport/shared_memory/shared_memory_transport.hpp"

namespace muster {
namespace shm {
namespace {

// How often the sockets are looked at while it polls without rest: new peers, and those that have ended.
constexpr unsigned kPollsPerLook = 512;

}  // namespace

// ---- writing

void SharedMemoryTransport::send(PeerId peer, const Frame& frame, std::span<const std::byte> payload,
                                 SendToken token) {
  MUSTER_CHECK(payload.size() == frame.bytes, "payload", payload.size(), "frame", frame.bytes);
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end() || found->second->failed) return sink_->sent(peer, token, false);
  const Out out = found->second;
  out->queue.push_back({frame, payload, token});
  write(out);
}

// As much as there is room for. Ends of sends are told at once, and may lead to new sends and to the end of
// the connection.
bool SharedMemoryTransport::write(const Out& out) {
  if (out->queue.empty() || out->writing) return false;
  out->writing = true;
  const bool any = write_queue(*out);
  out->writing = false;
  return any;
}

bool SharedMemoryTransport::write_queue(Outgoing& out) {
  look_what_was_taken(out);
  bool any = false;
  while (!out.queue.empty() && out.box.room() > 0) {
    Pending& pending = out.queue.front();
    any = true;
    if (!std::exchange(pending.begun, true))
      out.box.put(std::as_bytes(std::span(&pending.frame, 1)), pending.payload.empty());
    const std::size_t left = pending.payload.size() - pending.put;
    const std::size_t piece = std::min(left, kPiece);
    pending.put += out.box.put(pending.payload.subspan(pending.put, piece), piece == left);
    if (pending.put < pending.payload.size()) {
      if (piece == kPiece) out.box.publish();
      continue;
    }
    out.box.publish();
    const SendToken token = pending.token;
    out.queue.pop_front();
    poke(out, false);
    sink_->sent(out.peer, token, true);
    if (out.closed || out.failed) return true;
  }
  if (any) {
    out.box.publish();
    poke(out, false);
  }
  return any;
}

void SharedMemoryTransport::look_what_was_taken(Outgoing& out) {
  if (out.in == nullptr) return;
  const OutboxHead& theirs = out.in->box->head();
  if (theirs.answers.load(std::memory_order_acquire) == out.stream)
    out.box.was_taken(theirs.taken.load(std::memory_order_acquire));
}

// Whoever rests is woken, once: it looks at everything then.
void SharedMemoryTransport::poke(Outgoing& out, bool only_for_room) {
  if (!out.socket) return;
  if (out.in == nullptr) {  // it has not connected, and cannot say that it rests
    if (!only_for_room) shm::poke(out.socket);
    return;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what was written is seen before the word is read
  const RestWord word{out.in->box->head().rest.load(std::memory_order_relaxed)};
  if (!word.resting() || (only_for_room && !word.wants_room()) || word.word == out.poked) return;
  out.poked = word.word;
  shm::poke(out.socket);
}

// ---- reading

bool SharedMemoryTransport::read_all() {
  bool any = false;
  // By number: what is told may end this one or another.
  for (auto at = incoming_.begin(); at != incoming_.end();) {
    const In in = at->second;
    if (in->box != nullptr) any |= read(in);
    at = incoming_.upper_bound(in->number);
  }
  return any;
}

// At most half a ring, so that the other side may write while this one does something else.
bool SharedMemoryTransport::read(const In& in) {
  std::size_t budget = kRingBytes / 2;
  bool any = false;
  while (!in->closed && budget > 0) {
    const std::size_t unread = in->box->unread();
    if (unread == 0) break;
    any = true;
    if (in->frame) {
      const std::size_t before = in->read;
      if (read_payload(*in, unread)) {
        const Frame frame = *std::exchange(in->frame, std::nullopt);
        const std::span<std::byte> place = std::exchange(in->place, {});
        answer(*in);
        if (!place.empty()) sink_->arrived(frame, place);
      } else {
        answer(*in);
      }
      budget -= std::min(budget, in->read - before);
      continue;
    }
    std::string why;
    const auto frame = decode_frame(in->box->next(unread, sizeof(Frame)), why);
    if (!frame) {
      sink_->refused(why);
      end(in);
      return true;
    }
    in->box->take(sizeof(Frame));
    budget -= std::min(budget, sizeof(Frame));
    if (frame->bytes == 0) {
      answer(*in);
      sink_->arrived(*frame, {});
      continue;
    }
    in->frame = frame;
    in->read = 0;
    in->place = sink_->place(*frame);
    MUSTER_CHECK(in->place.empty() || in->place.size() == frame->bytes, in->place.size(), frame->bytes);
  }
  if (!in->closed && in->box->broken()) {
    sink_->refused("an outbox whose counters cannot be");
    end(in);
  }
  if (any && !in->closed && in->back != nullptr) poke(*in->back, true);
  return any;
}

// Whether it is whole.
bool SharedMemoryTransport::read_payload(Incoming& in, std::size_t unread) {
  const std::size_t left = static_cast<std::size_t>(in.frame->bytes) - in.read;
  const auto piece = in.box->next(unread, left);
  if (!in.place.empty()) std::memcpy(in.place.data() + in.read, piece.data(), piece.size());
  in.read += piece.size();
  in.box->take(piece.size());
  return piece.size() == left;
}

void SharedMemoryTransport::answer(Incoming& in) {
  if (in.back != nullptr) in.back->box.head().taken.store(in.box->taken(), std::memory_order_release);
}

// ---- progress

bool SharedMemoryTransport::progress() {
  if (resting_) rest(false);
  bool any = tell_ends();
  any |= dial_again();
  any |= read_all();
  for (auto at = outgoing_.begin(); at != outgoing_.end();) {
    const Out out = at->second;
    any |= write(out);
    at = outgoing_.upper_bound(out->peer);
  }
  if (look_ || ++polls_ >= kPollsPerLook) any |= look();
  return any;
}

void SharedMemoryTransport::rest(bool resting) {
  resting_ = resting;
  ++rests_;
  for (const auto& [peer, out] : outgoing_) {
    const RestWord word = RestWord::of(rests_, resting, !out->queue.empty());
    out->box.head().rest.store(word.word, std::memory_order_relaxed);
  }
}

bool SharedMemoryTransport::arm() {
  if (!ended_sends_.empty() || !ended_frames_.empty() || to_dial_) return false;
  look_ = true;
  rest(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the word is seen before the rings are read
  bool idle = true;
  for (const auto& [number, in] : incoming_) idle = idle && (in->box == nullptr || in->box->unread() == 0);
  for (const auto& [peer, out] : outgoing_) {
    look_what_was_taken(*out);
    idle = idle && (out->queue.empty() || out->box.room() == 0);
  }
  if (!idle) rest(false);
  return idle;
}

}  // namespace shm

std::unique_ptr<Transport> make_shared_memory_transport() {
  return std::make_unique<shm::SharedMemoryTransport>();
}

}  // namespace muster
