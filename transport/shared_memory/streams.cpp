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

// Whether the oldest borrowed buffer has been given back. A number that cannot be changes nothing.
bool has_returned(const Outgoing& out) {
  if (out.in == nullptr || out.borrowed.empty()) return false;
  const OutboxHead& theirs = out.in->box->head();
  if (theirs.answers.load(std::memory_order_acquire) != out.stream) return false;
  const std::uint64_t returned = theirs.returned.load(std::memory_order_acquire);
  return returned >= out.borrowed.front().number && returned <= out.last_borrow;
}

bool has_nothing_to_say(const Outgoing& out) {
  return out.queue.empty() && !has_returned(out) && out.freed == segments_freed();
}

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
  if (out.box.room() < out.box.capacity() / 2) look_what_was_taken(out);
  bool any = report_returned(out);
  forget_freed(out);
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
    notify(out, News::frames);
    sink_->sent(out.peer, token, true);
  }
  if (any && !out.closed && !out.failed) {
    out.box.publish();
    notify(out, News::frames);
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
  notify(out, News::frames);
  out.borrowed.push_back({reference.number, pending.token});
  out.queue.pop_front();
  return true;
}

// The other side need not keep what is not there any more.
void SharedMemoryTransport::forget_freed(Outgoing& out) {
  const std::uint64_t freed = segments_freed();
  if (out.freed == freed || (!out.queue.empty() && out.queue.front().begun)) return;
  for (auto at = out.handed.begin(); at != out.handed.end();) {
    if (segment_lives(*at)) {
      ++at;
      continue;
    }
    if (out.box.room() < kLine) return;
    Forget forget;
    forget.segment = *at;
    out.box.put(std::as_bytes(std::span(&forget, 1)), false);
    out.box.publish();
    at = out.handed.erase(at);
  }
  out.freed = freed;
}

bool SharedMemoryTransport::report_returned(Outgoing& out) {
  bool any = false;
  while (!out.closed && !out.failed && has_returned(out)) {
    const SendToken token = out.borrowed.front().token;
    out.borrowed.pop_front();
    sink_->sent(out.peer, token, true);
    any = true;
  }
  return any;
}

void SharedMemoryTransport::look_what_was_taken(Outgoing& out) {
  if (out.in == nullptr) return;
  const OutboxHead& theirs = out.in->box->head();
  if (theirs.answers.load(std::memory_order_acquire) == out.stream)
    out.box.was_taken(theirs.taken.load(std::memory_order_acquire));
}

// Who rests is woken before this side does anything else for long.
void SharedMemoryTransport::notify(Outgoing& out, News news) {
  out.news = std::max(out.news, news);
  news_ = true;
}

// The fence waits until all that was written has left this core: once for all messages, and never while
// nothing is said.
void SharedMemoryTransport::poke_all() {
  if (!std::exchange(news_, false)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what was written is seen before the word is read
  for (const auto& [peer, out] : outgoing_) {
    if (const News news = std::exchange(out->news, News::none); news != News::none) poke(*out, news);
  }
}

// Whoever rests is woken, once: it looks at everything then.
void SharedMemoryTransport::poke(Outgoing& out, News news) {
  if (!out.socket) return;
  const bool only_room = news == News::room;
  if (out.in == nullptr) {  // it has not connected, and cannot say that it rests
    if (!only_room) shm::poke(out.socket);
    return;
  }
  const RestWord word{out.in->box->head().rest.load(std::memory_order_relaxed)};
  if (!word.resting() || (only_room && !word.wants_room()) || word.word == out.poked) return;
  out.poked = word.word;
  shm::poke(out.socket);
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
    poke_all();
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
      const bool whole = read_payload(*in, unread);
      if (!whole || in->read > kPiece) answer(*in);  // the other side goes on
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
    answer(*in);
    notify(*in->back, News::room);
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
  const auto segment = segment_of(*in, reference.segment);
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

// It was handed over before it was spoken of.
std::shared_ptr<const ForeignSegment> SharedMemoryTransport::segment_of(Incoming& in, std::uint64_t number) {
  try {
    while (!in.segments.contains(number)) {
      const Heard heard = shm::hear(in.socket);
      if (!heard.handed) return nullptr;
      keep(in, heard);
    }
  } catch (const std::exception&) {
    return nullptr;
  }
  return in.segments.at(number);
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
  notify(*in->back, News::room);
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
  poke_all();
  bool any = report_ends();
  any |= dial_again();
  any |= read_all();
  any |= write_all();
  poke_all();
  if (look_ || ++polls_ >= kPollsPerLook) any |= look();
  return any;
}

bool SharedMemoryTransport::write_all() {
  bool any = false;
  for (auto at = outgoing_.begin(); at != outgoing_.end();) {
    if (has_nothing_to_say(*at->second)) {
      ++at;
      continue;
    }
    const Out out = at->second;
    any |= write(out);
    at = outgoing_.upper_bound(out->peer);
  }
  return any;
}

void SharedMemoryTransport::rest(bool resting) {
  resting_ = resting;
  ++rests_;
  for (const auto& [peer, out] : outgoing_) {
    const RestWord word = RestWord::of(rests_, resting, !out->queue.empty() || !out->borrowed.empty());
    out->box.head().rest.store(word.word, std::memory_order_relaxed);
  }
}

bool SharedMemoryTransport::arm() {
  poke_all();
  if (!ended_sends_.empty() || !ended_frames_.empty() || to_dial_) return false;
  look_ = true;
  rest(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the word is seen before the rings are read
  bool idle = true;
  for (const auto& [number, in] : incoming_) idle = idle && (in->box == nullptr || in->box->unread() == 0);
  for (const auto& [peer, out] : outgoing_) {
    look_what_was_taken(*out);
    idle = idle && (out->queue.empty() || out->box.room() == 0) && !has_returned(*out);
  }
  if (!idle) rest(false);
  return idle;
}

}  // namespace shm

std::unique_ptr<Transport> make_shared_memory_transport() {
  return std::make_unique<shm::SharedMemoryTransport>();
}

}  // namespace muster
