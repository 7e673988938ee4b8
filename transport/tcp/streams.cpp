// What is said over a connection: frames and payloads, one after the other.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "transport/tcp/socket_transport.hpp"

namespace muster::tcp {
namespace {

// At a time, so that reading and writing, and all peers, take turns.
constexpr std::size_t kBytesAtOnce = 1 << 20;
constexpr std::size_t kPartsAtOnce = 16;
// Of a connection that has ended: more than a socket holds.
constexpr int kReadsAtEnd = 256;

iovec part_of(const void* bytes, std::size_t count) {
  return {const_cast<void*>(bytes), count};
}

bool is_life(const Frame& frame) {
  return frame.kind == FrameKind::ping || frame.kind == FrameKind::status;
}

bool is_full_or_empty(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

// ---- writing

// By the next progress: what is said at once goes out at once.
void SocketTransport::send(PeerId peer, const Frame& frame, std::span<const std::byte> payload,
                           SendToken token) {
  MUSTER_CHECK(payload.size() == frame.bytes, "payload", payload.size(), "frame", frame.bytes);
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end() || found->second->failed) return sink_->sent(peer, token, false);
  // Signs of life do not wait behind what takes long; but no frame is cut in two.
  auto& queue = found->second->queue;
  std::size_t at = queue.size();
  if (is_life(frame)) {
    at = !queue.empty() && queue.front().put > 0 ? 1 : 0;
    while (at < queue.size() && is_life(queue[at].frame)) ++at;
  }
  queue.insert(at, {checked(frame), payload, token});
  list(found->second);
}

void SocketTransport::list(const Out& out) {
  if (out->listed || !out->open() || !out->writable || out->queue.empty()) return;
  out->listed = true;
  to_write_.push_back(out);
}

bool SocketTransport::write_all() {
  if (to_write_.empty()) return false;
  writing_.swap(to_write_);
  for (const Out& out : writing_) {
    out->listed = false;
    if (out->open() && write(out)) list(out);
  }
  writing_.clear();
  return true;
}

// False: the connection has failed.
bool SocketTransport::write(const Out& out) {
  std::array<iovec, kPartsAtOnce> parts;
  std::size_t count = 0, asked = 0;
  for (std::size_t i = 0; i < out->queue.size() && count + 2 <= parts.size() && asked < kBytesAtOnce; ++i) {
    const Pending& pending = out->queue[i];
    const auto head =
        std::as_bytes(std::span(&pending.frame, 1)).subspan(std::min(pending.put, sizeof(Frame)));
    const std::size_t put = pending.put - (sizeof(Frame) - head.size());
    const std::size_t piece = std::min(pending.payload.size() - put, kBytesAtOnce);
    if (!head.empty()) parts[count++] = part_of(head.data(), head.size());
    if (piece > 0) parts[count++] = part_of(pending.payload.data() + put, piece);
    asked += head.size() + piece;
    if (put + piece < pending.payload.size()) break;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const auto done = ::sendmsg(out->socket.get(), &message, MSG_NOSIGNAL);
  if (done < 0 && !is_full_or_empty(errno)) {
    fail(out, std::string("it cannot be written to: ") + std::strerror(errno));
    return false;
  }
  out->writable = done < 0 ? errno == EINTR : static_cast<std::size_t>(done) == asked;
  if (done > 0) written(*out, static_cast<std::size_t>(done));
  return true;
}

// Ends of sends are told when all is counted: they may lead to new sends, in front of others, and to the end
// of the connection.
void SocketTransport::written(Outgoing& out, std::size_t bytes) {
  done_.clear();
  while (bytes > 0) {
    Pending& pending = out.queue.front();
    const std::size_t part = std::min(bytes, pending.bytes() - pending.put);
    pending.put += part;
    bytes -= part;
    if (pending.put < pending.bytes()) break;
    done_.push_back(pending.token);
    out.queue.pop_front();
  }
  for (const SendToken token : done_) sink_->sent(out.peer, token, true);
}

// ---- reading

void SocketTransport::list(const In& in) {
  if (in->listed || in->closed || !(in->readable || in->ending)) return;
  in->listed = true;
  to_read_.push_back(in);
}

bool SocketTransport::read_all() {
  if (to_read_.empty()) return false;
  bool any = false;
  reading_.swap(to_read_);
  for (const In& in : reading_) {
    in->listed = false;
    if (in->closed) continue;
    any |= read(in);
    list(in);
  }
  reading_.clear();
  return any;
}

// Straight to its place, and what comes behind it into the buffer. Returns whether anything came, the end
// too.
bool SocketTransport::read(const In& in) {
  std::array<iovec, 2> parts;
  std::size_t count = 0, asked = 0;
  const std::size_t left = in->left();
  if (left > 0) {
    asked = std::min(left, in->place.empty() ? thrown_away_.size() : kBytesAtOnce);
    parts[count++] = part_of(in->place.empty() ? thrown_away_.data() : in->place.data() + in->read, asked);
  }
  if (asked == left) {
    const std::size_t room = in->buffer.size() - in->end;
    parts[count++] = part_of(in->buffer.data() + in->end, room);
    asked += room;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const auto got = ::recvmsg(in->socket.get(), &message, 0);
  if (got < 0 && is_full_or_empty(errno)) {
    in->readable = errno == EINTR;
    in->ending = in->ending && in->readable;
    return false;
  }
  if (got <= 0) {
    end(in);
    return true;
  }
  in->readable = static_cast<std::size_t>(got) == asked;
  take(in, static_cast<std::size_t>(got));
  return true;
}

void SocketTransport::drain(const In& in) {
  for (int reads = 0; reads < kReadsAtEnd && !in->closed && read(in); ++reads) {
  }
}

// What has come: first the rest of the payload, then what lies in the buffer.
void SocketTransport::take(const In& in, std::size_t bytes) {
  const std::size_t rest = std::min(bytes, in->left());
  in->end += bytes - rest;
  if (rest > 0) take_payload(in, rest);
  if (!in->closed && in->name.empty()) {
    if (in->end < sizeof(Hello) || !begin(in)) return;
  }
  while (!in->closed && in->left() == 0 && in->end - in->begin >= sizeof(Frame)) {
    if (!take_frame(in)) return;
    const std::size_t there = std::min(in->left(), in->end - in->begin);
    if (there == 0) continue;
    if (!in->place.empty()) std::memcpy(in->place.data() + in->read, in->buffer.data() + in->begin, there);
    in->begin += there;
    take_payload(in, there);
  }
  std::memmove(in->buffer.data(), in->buffer.data() + in->begin, in->end - in->begin);
  in->end -= in->begin;
  in->begin = 0;
}

// False if the connection has ended by it.
bool SocketTransport::take_frame(const In& in) {
  std::string why;
  const auto frame = decode_frame(std::span(in->buffer).subspan(in->begin, sizeof(Frame)), why);
  if (!frame) {
    refuse(in, why);
    return false;
  }
  in->begin += sizeof(Frame);
  if (frame->bytes == 0) {
    sink_->arrived(*frame, {});
    return !in->closed;
  }
  in->frame = frame;
  in->read = 0;
  in->place = sink_->place(*frame);
  MUSTER_CHECK(in->place.empty() || in->place.size() == frame->bytes, in->place.size(), frame->bytes);
  return true;
}

void SocketTransport::take_payload(const In& in, std::size_t bytes) {
  in->read += bytes;
  if (in->left() > 0) return;
  const Frame frame = *std::exchange(in->frame, std::nullopt);
  const std::span<std::byte> place = std::exchange(in->place, {});
  if (!place.empty()) sink_->arrived(frame, place);
}

// ---- progress

bool SocketTransport::progress() {
  bool any = report_ends();
  any |= write_all();  // what was sent since the last time
  any |= look();
  any |= read_all();
  if (greeting_ && all_seen_)
    check_greetings();  // a hello may have lain there while this process stood still
  any |= write_all();   // what followed from that
  return any;
}

bool SocketTransport::arm() {
  return to_write_.empty() && to_read_.empty() && ended_.empty() && lost_.empty();
}

}  // namespace muster::tcp
