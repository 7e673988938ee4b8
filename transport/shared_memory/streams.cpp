// What is said over a connection: frames and payloads, cut into pieces by the room there is.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/check.hpp"
#include "transport/borrowable.hpp"
#include "transport/shared_memory/local_transport.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"

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
  out->queue.push_back({checked(frame), payload, token});
  write(out);
}

// As much as there is room for. Ends of sends are told at once, and may lead to new sends and to the end of
// the connection.
bool SharedMemoryTransport::write(const Out& out) {
  if (out->writing) return false;
  out->writing = true;
  const bool any = write_queue(*out);
  out->writing = false;
  return any;
}

bool SharedMemoryTransport::write_queue(Outgoing& out) {
  // Where the other side writes all the time, and only when it matters.
  if (out.box.room() < out.box.capacity() / 2) out.look_what_was_taken();
  bool any = report_returned(out);
  out.forget_freed();
  while (!out.closed && !out.failed && !out.queue.empty() && out.box.room() > 0) {
    Pending& pending = out.queue.front();
    any = true;
    if (!pending.begun) {
      if (offer(out)) continue;
      out.box.put(std::as_bytes(std::span(&pending.frame, 1)), pending.payload.empty());
      pending.begun = true;
    }
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
    wake_ups_.notify(out, News::frames);
    sink_->sent(out.peer, token, true);
  }
  if (any && !out.closed && !out.failed) {
    out.box.publish();
    wake_ups_.notify(out, News::frames);
  }
  return any;
}

// Says where the first payload lies instead of copying it, if the other side can read it there.
bool SharedMemoryTransport::offer(Outgoing& out) {
  const Pending& pending = out.queue.front();
  if (pending.payload.size() < kBorrowableBytesMin || out.in == nullptr || out.box.room() < 2 * kLine)
    return false;
  const auto place = shm::segment_of(pending.payload);
  if (!place) return false;
  if (!out.handed.contains(place->segment)) {
    Handed handed;
    handed.segment = place->segment;
    handed.bytes = place->bytes;
    if (!send_segment(out.socket, handed, place->descriptor)) return false;
    out.handed.insert(place->segment);
  }
  Frame frame = pending.frame;
  frame.magic = kBorrowedMagic;
  Reference reference;
  reference.segment = place->segment;
  reference.offset = place->offset;
  reference.number = ++out.last_borrow;
  out.box.put(std::as_bytes(std::span(&frame, 1)), false);
  out.box.put(std::as_bytes(std::span(&reference, 1)), false);
  out.box.publish();
  wake_ups_.notify(out, News::frames);
  out.borrowed.push_back({reference.number, pending.token});
  out.queue.pop_front();
  return true;
}

bool SharedMemoryTransport::report_returned(Outgoing& out) {
  bool any = false;
  while (!out.closed && !out.failed && out.has_returned()) {
    const SendToken token = out.borrowed.front().token;
    out.borrowed.pop_front();
    sink_->sent(out.peer, token, true);
    any = true;
  }
  return any;
}

// ---- reading

bool SharedMemoryTransport::read_all() {
  bool any = false;
  // By number: what is told may end this one or another.
  for (auto at = incoming_.begin(); at != incoming_.end();) {
    if (Inbox* const box = at->second->box.get(); box == nullptr || (box->unread() == 0 && !box->broken())) {
      ++at;
      continue;
    }
    const In in = at->second;
    any |= read(in);
    wake_ups_.poke_all(outgoing_);
    at = incoming_.upper_bound(in->number);
  }
  return any;
}

// At most half a ring, so that the other side may write while this one does something else. What was taken
// is said once, or with each piece of a payload.
bool SharedMemoryTransport::read(const In& in) {
  std::size_t budget = kRingBytes / 2;
  bool any = false;
  while (!in->closed && budget > 0) {
    const std::size_t unread = in->box->unread();
    if (unread == 0) break;
    any = true;
    if (in->frame && !in->borrowed) {
      const std::size_t before = in->read;
      const bool whole = in->copy_payload(unread);
      if (!whole || in->read > kPiece) in->answer();  // the other side goes on
      if (whole) {
        const Frame frame = *std::exchange(in->frame, std::nullopt);
        const std::span<std::byte> place = std::exchange(in->place, {});
        if (!place.empty()) sink_->arrived(frame, place);
      }
      budget -= std::min(budget, in->read - before);
      continue;
    }
    const std::uint64_t before = in->box->taken();
    if (!(in->borrowed ? read_reference(in, unread) : read_frame(in, unread))) return true;
    budget -= std::min<std::size_t>(budget, in->box->taken() - before);
  }
  if (!in->closed && in->box->broken()) {
    sink_->refused("an outbox whose counters cannot be");
    end(in);
  }
  if (any && !in->closed && in->back != nullptr) {
    in->answer();
    wake_ups_.notify(*in->back, News::room);
  }
  return any;
}

// A line between two messages. False if the connection has ended by it.
bool SharedMemoryTransport::read_frame(const In& in, std::size_t unread) {
  std::array<std::byte, kLine> line{};
  const auto bytes = in->box->next(unread, line.size());
  std::copy(bytes.begin(), bytes.end(), line.begin());  // it may change while it is looked at
  std::uint32_t magic = 0;
  std::memcpy(&magic, line.data(), sizeof magic);
  in->box->take(line.size());
  if (magic == kForgetMagic) {
    Forget forget;
    std::memcpy(&forget, line.data(), sizeof forget);
    in->segments.erase(forget.segment);
    return true;
  }
  const bool borrowed = magic == kBorrowedMagic;
  if (borrowed) std::memcpy(line.data(), &kFrameMagic, sizeof kFrameMagic);
  std::string why;
  const auto frame = decode_frame(line, why);
  if (!frame || (borrowed && frame->bytes == 0)) {
    refuse(in, frame ? "a frame that refers to no buffer" : why);
    return false;
  }
  if (frame->bytes == 0) {
    sink_->arrived(*frame, {});
    return true;
  }
  in->frame = frame;
  in->borrowed = borrowed;
  if (borrowed) return true;
  in->read = 0;
  in->place = sink_->place(*frame);
  MUSTER_CHECK(in->place.empty() || in->place.size() == frame->bytes, in->place.size(), frame->bytes);
  return true;
}

// Where a payload lies. False if the connection has ended by it.
bool SharedMemoryTransport::read_reference(const In& in, std::size_t unread) {
  Reference reference;
  const auto bytes = in->box->next(unread, sizeof reference);
  std::memcpy(&reference, bytes.data(), sizeof reference);
  in->box->take(sizeof reference);
  in->borrowed = false;
  const Frame frame = *std::exchange(in->frame, std::nullopt);
  if (take_borrow(in, frame, reference)) return !in->closed;
  refuse(in, "a payload that lies nowhere");
  return false;
}

bool SharedMemoryTransport::take_borrow(const In& in, const Frame& frame, const Reference& reference) {
  const auto segment = in->segment(reference.segment);
  if (!segment || reference.number != in->last_borrow + 1 || reference.offset % sizeof(float) != 0)
    return false;
  const auto payload = segment->at(reference.offset, frame.bytes);
  if (!payload) return false;
  in->last_borrow = reference.number;
  in->borrows.push_back(segment);
  owners_[in->number] = in;
  const BorrowedBuffer borrow{in->number, reference.number};
  if (!sink_->arrived_in_place(frame, *payload, borrow)) {
    const std::span<std::byte> place = sink_->place(frame);
    MUSTER_CHECK(place.empty() || place.size() == frame.bytes, place.size(), frame.bytes);
    if (!place.empty()) std::memcpy(place.data(), payload->data(), payload->size());
    const bool whole = stands(borrow);
    give_back(borrow);
    if (!place.empty()) whole ? sink_->arrived(frame, place) : sink_->dropped(frame);
    if (!whole) end(in);  // its sender has let go of this connection
  }
  return true;
}

bool SharedMemoryTransport::stands(BorrowedBuffer borrow) const {
  const auto found = owners_.find(borrow.owner);
  MUSTER_CHECK(found != owners_.end(), borrow.owner, borrow.number);
  return !found->second->box->revoked();
}

void SharedMemoryTransport::give_back(BorrowedBuffer borrow) {
  const auto found = owners_.find(borrow.owner);
  MUSTER_CHECK(found != owners_.end() && found->second->give_back(borrow.number), borrow.owner,
               borrow.number);
  const In in = found->second;
  if (in->closed && in->borrows.empty()) owners_.erase(found);
  if (in->closed || in->back == nullptr) return;
  in->back->box.head().returned.store(in->returned(), std::memory_order_release);
  wake_ups_.notify(*in->back, News::room);
}

// ---- progress

bool SharedMemoryTransport::progress() {
  if (wake_ups_.resting()) wake_ups_.rest(outgoing_, false);
  wake_ups_.poke_all(outgoing_);
  bool any = ended_.report(*sink_);
  any |= dial_again();
  any |= read_all();
  any |= write_all();
  wake_ups_.poke_all(outgoing_);
  if (look_ || ++polls_ >= kPollsPerLook) any |= look();
  return any;
}

bool SharedMemoryTransport::write_all() {
  bool any = false;
  for (auto at = outgoing_.begin(); at != outgoing_.end();) {
    if (at->second->has_nothing_to_say()) {
      ++at;
      continue;
    }
    const Out out = at->second;
    any |= write(out);
    at = outgoing_.upper_bound(out->peer);
  }
  return any;
}

bool SharedMemoryTransport::arm() {
  wake_ups_.poke_all(outgoing_);
  if (!ended_.empty() || to_dial_) return false;
  look_ = true;
  wake_ups_.rest(outgoing_, true);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the word is seen before the rings are read
  bool idle = true;
  for (const auto& [number, in] : incoming_) idle = idle && (in->box == nullptr || in->box->unread() == 0);
  for (const auto& [peer, out] : outgoing_) {
    out->look_what_was_taken();
    idle = idle && (out->queue.empty() || out->box.room() == 0) && !out->has_returned();
  }
  if (!idle) wake_ups_.rest(outgoing_, false);
  return idle;
}

}  // namespace shm

std::unique_ptr<Transport> make_shared_memory_transport() {
  return std::make_unique<shm::SharedMemoryTransport>();
}

}  // namespace muster
