// What one process says to another one through shared memory: a ring that only the sayer writes. A process
// that dies in the middle of a message spoils nobody's but its own.
//
// Each direction of a connection is the outbox of its writer, mapped read-only by its reader. The reader's
// answer, how far it has read, lies in its own outbox for the way back. (A ring with one writer and one
// reader: Lamport, "Proving the correctness of multiprocess programs", 1977.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shared_memory/descriptor.hpp"

namespace muster::shm {

/// In front of the ring. Every field is written by the outbox's owner alone.
struct OutboxHead {
  /// Bytes of this stream that the other side may read.
  alignas(128) std::atomic<std::uint64_t> written;
  /// How far the owner has read the other side's stream, and which stream that is.
  alignas(128) std::atomic<std::uint64_t> answers;
  std::atomic<std::uint64_t> taken;
  /// Of that stream: all borrowed buffers up to this one have been given back.
  std::atomic<std::uint64_t> returned;
  /// Not 0: the owner has ended the connection, and may change what others have borrowed. As the sequence
  /// word of a seqlock: written before the memory changes, and read after what was copied or added from it.
  std::atomic<std::uint64_t> revoked;
  /// What the owner does when nothing happens: see rest_word.
  alignas(128) std::atomic<std::uint64_t> rest;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Whoever waits for its descriptor says so, and is poked (once for each word) by whoever has news.
struct RestWord {
  std::uint64_t word = 0;
  bool resting() const { return (word & 1) != 0; }
  bool wants_room() const { return (word & 2) != 0; }
  static RestWord of(std::uint64_t times, bool resting, bool wants_room) {
    return {times << 2 | (wants_room ? 2u : 0u) | (resting ? 1u : 0u)};
  }
};

/// Streams are cut into lines, so that a frame's header lies in one piece and copies are aligned.
inline constexpr std::size_t kLine = 64;
/// The most that is copied before the other side may see it: both sides work at the same time.
inline constexpr std::size_t kPiece = std::size_t{64} << 10;
inline constexpr std::size_t kRingBytes = std::size_t{1} << 20;
inline constexpr std::size_t kRingBytesMax = std::size_t{1} << 30;

inline std::size_t in_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

/// An outbox of this process: memory without a name, which ends with those who hold it.
class Outbox {
 public:
  /// Throws Error if the kernel gives no memory.
  explicit Outbox(std::size_t capacity = kRingBytes);
  ~Outbox() { revoke(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  OutboxHead& head() { return *reinterpret_cast<OutboxHead*>(memory_.begin()); }
  /// Read-only; for the other process.
  int descriptor() const { return shared_.get(); }
  std::size_t capacity() const { return capacity_; }

  /// From now on what was borrowed through it may change.
  void revoke() {
    head().revoked.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // before any write to that memory
  }

  std::size_t room() const { return capacity_ - (at_ - taken_); }
  /// The other side has read this far; a number that cannot be changes nothing.
  void was_taken(std::uint64_t taken);
  /// Copies as much as fits, in whole lines but for the end of a message; returns how much. `ends`: the
  /// bytes are the last of a message, and what is left of their line is skipped.
  std::size_t put(std::span<const std::byte> bytes, bool ends);
  /// Shows it to the other side.
  void publish() {
    if (at_ == published_) return;  // the other side looks there all the time: each write takes it the line
    head().written.store(at_, std::memory_order_release);
    published_ = at_;
  }

 private:
  const std::size_t capacity_;
  Mapping memory_;
  Descriptor shared_;
  std::uint64_t at_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t taken_ = 0;
};

/// Another process's outbox. It may write there what it likes: nothing of it is trusted.
class Inbox {
 public:
  /// Throws Error if the memory is not of this capacity, or could be taken away.
  Inbox(const Descriptor& memory, std::size_t capacity);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  const OutboxHead& head() const { return *reinterpret_cast<const OutboxHead*>(memory_.begin()); }
  /// Bytes that lie there unread; whole lines. `broken` is true from then on if that cannot be.
  std::size_t unread();
  bool broken() const { return broken_; }
  /// The next bytes in one piece, at most kPiece; not more than `unread`.
  std::span<const std::byte> next(std::size_t unread, std::size_t wanted) const;
  void take(std::size_t bytes) { at_ += in_lines(bytes); }
  std::uint64_t taken() const { return at_; }
  /// Whether what was read of borrowed memory before this call may be something else than was sent.
  bool revoked() const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return head().revoked.load(std::memory_order_relaxed) != 0;
  }

 private:
  const std::size_t capacity_;
  Mapping memory_;
  std::uint64_t at_ = 0;
  bool broken_ = false;
};

}  // namespace muster::shm
