// The two directions of a connection between two processes: their state, and what is done within one of them.
//
// Thread rule: that of the transport, which they belong to.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "transport/ring.hpp"
#include "transport/shared_memory/outbox.hpp"
#include "transport/shared_memory/segment.hpp"
#include "transport/shared_memory/sockets.hpp"
#include "transport/transport.hpp"

namespace muster::shm {

struct Outgoing;

/// In a stream, the first word of a line says what it is: a frame, a frame whose payload is borrowed (in the
/// next line a Reference says where it lies), or that a segment is not used any more.
inline constexpr std::uint32_t kBorrowedMagic = 0x4c54534d;  // "MSTL"
inline constexpr std::uint32_t kForgetMagic = 0x4654534d;    // "MSTF"

struct Reference {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t number = 0;  ///< of the borrowed buffer: 1, 2, 3, ... within the stream
  std::uint64_t unused[5] = {};
};
static_assert(sizeof(Reference) == kLine);

struct Forget {
  std::uint32_t magic = kForgetMagic;
  std::uint32_t unused = 0;
  std::uint64_t segment = 0;
  std::uint64_t more[6] = {};
};
static_assert(sizeof(Forget) == kLine);

/// What another process says to this one.
struct Incoming {
  Descriptor socket;
  std::uint64_t number = 0;
  std::string name;            // of the other process; empty before its hello
  std::uint64_t stream = 0;    // of its outbox
  std::unique_ptr<Inbox> box;  // none before its hello
  Outgoing* back = nullptr;    // the way back, once this side has connected
  bool closed = false;         // nothing of it is told any more
  std::optional<Frame> frame;  // whose payload is being read
  std::span<std::byte> place;  // where it goes; empty: thrown away
  std::size_t read = 0;        // of the payload
  bool borrowed = false;       // the frame's payload: a reference follows
  std::map<std::uint64_t, std::shared_ptr<const ForeignSegment>> segments;
  // From the first borrowed buffer that is not given back to the last one; none: given back.
  Ring<std::shared_ptr<const ForeignSegment>> borrows;
  std::uint64_t last_borrow = 0;

  /// All borrowed buffers up to this one have been given back.
  std::uint64_t returned() const { return last_borrow - borrows.size(); }
  /// False if it is none, or was given back before.
  bool give_back(std::uint64_t borrow) {
    if (borrow <= returned() || borrow > last_borrow || !borrows[borrow - returned() - 1]) return false;
    borrows[borrow - returned() - 1].reset();
    while (!borrows.empty() && !borrows.front()) borrows.pop_front();
    return true;
  }

  /// Keeps a segment that the other process has handed over. Throws Error if there are too many, or if it is
  /// no memory.
  void keep(const Heard& heard);
  /// The segment of this number: it was handed over before it was spoken of. Null: it was not.
  std::shared_ptr<const ForeignSegment> segment(std::uint64_t number);
  /// Copies more of the frame's payload to its place. Returns whether it is whole.
  bool copy_payload(std::size_t unread) {
    const std::size_t left = static_cast<std::size_t>(frame->bytes) - read;
    const auto piece = box->next(unread, left);
    if (!place.empty()) std::memcpy(place.data() + read, piece.data(), piece.size());
    read += piece.size();
    box->take(piece.size());
    return piece.size() == left;
  }
  /// Tells the other side how far its stream has been read. It hears nothing before this side has connected.
  void answer();
};

/// What the other side wants to be woken for, if it rests.
enum class News : std::uint8_t { none, room, frames };

struct Pending {
  Frame frame;
  std::span<const std::byte> payload;
  SendToken token = 0;
  bool begun = false;   // the header is written
  std::size_t put = 0;  // of the payload
};

struct BorrowedSend {
  std::uint64_t number = 0;
  SendToken token = 0;
};

/// What this process says to another one.
struct Outgoing {
  PeerId peer = 0;
  std::string name;  // of the other process
  std::uint64_t stream = 0;
  Descriptor socket;  // none while the other side is too busy to be dialed
  std::uint64_t number = 0;
  Outbox box;
  Ring<Pending> queue;
  Ring<BorrowedSend> borrowed;  // not returned
  std::uint64_t last_borrow = 0;
  std::set<std::uint64_t> handed;  // segments that the other process has
  std::uint64_t freed = 0;         // segments_freed(), when it was last told
  Incoming* in = nullptr;          // what the other process says to this one, once it has connected
  std::uint64_t poked = 0;         // the rest word for which it was
  News news = News::none;          // said since it was last looked whether the other side rests
  bool writing = false;            // what is sent from within its callbacks waits for its turn
  bool failed = false;
  bool closed = false;

  /// Whether the oldest borrowed buffer has been given back. A number that cannot be changes nothing.
  bool has_returned() const {
    if (in == nullptr || borrowed.empty()) return false;
    const OutboxHead& theirs = in->box->head();
    if (theirs.answers.load(std::memory_order_acquire) != stream) return false;
    const std::uint64_t returned = theirs.returned.load(std::memory_order_acquire);
    return returned >= borrowed.front().number && returned <= last_borrow;
  }
  bool has_nothing_to_say() const { return queue.empty() && !has_returned() && freed == segments_freed(); }
  /// Makes room of what the other side has read.
  void look_what_was_taken() {
    if (in == nullptr) return;
    const OutboxHead& theirs = in->box->head();
    if (theirs.answers.load(std::memory_order_acquire) == stream)
      box.was_taken(theirs.taken.load(std::memory_order_acquire));
  }
  /// Tells the other side which of the segments that it has are not there any more, as far as there is room.
  void forget_freed();
};

inline void Incoming::answer() {
  if (back != nullptr) back->box.head().taken.store(box->taken(), std::memory_order_release);
}

/// They are the two directions of one connection from now on: what this side reads is answered in its outbox.
void pair(Incoming& in, Outgoing& out);

}  // namespace muster::shm
