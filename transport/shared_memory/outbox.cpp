#include "transport/shared_memory/outbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "muster/error.hpp"
#include "transport/shared_memory/seals.hpp"

namespace muster::shm {
namespace {

constexpr std::size_t kHeadBytes = 4096;
static_assert(sizeof(OutboxHead) <= kHeadBytes);

[[noreturn]] void no_memory(const char* what) {
  throw Error(std::string("shared memory: ") + what + ": " + std::strerror(errno));
}

bool capacity_may_be(std::size_t capacity) {
  return capacity >= kLine && capacity <= kRingBytesMax && (capacity & (capacity - 1)) == 0;
}

}  // namespace

Outbox::Outbox(std::size_t capacity) : capacity_(capacity) {
  const Descriptor memory = new_shared_memory("muster-outbox", kHeadBytes + capacity);
  if (!memory) no_memory("memfd_create");
  memory_ = Mapping(memory.get(), kHeadBytes + capacity, PROT_READ | PROT_WRITE);
  if (!memory_.good()) no_memory("mmap");
  shared_ = seal_for_readers(memory);
  if (!shared_) no_memory("a descriptor to read with");
}

void Outbox::was_taken(std::uint64_t taken) {
  if (taken > taken_ && taken <= at_ && taken % kLine == 0) taken_ = taken;
}

std::size_t Outbox::put(std::span<const std::byte> bytes, bool ends) {
  std::size_t put = 0;
  while (put < bytes.size() && room() > 0) {
    const std::size_t place = at_ & (capacity_ - 1);
    const std::size_t piece = std::min({bytes.size() - put, room(), capacity_ - place});
    std::memcpy(memory_.begin() + kHeadBytes + place, bytes.data() + put, piece);
    put += piece;
    at_ += put == bytes.size() && ends ? in_lines(piece) : piece;
  }
  return put;
}

Inbox::Inbox(const Descriptor& memory, std::size_t capacity) : capacity_(capacity) {
  if (!capacity_may_be(capacity) || !stays_whole(memory, kHeadBytes + capacity))
    throw Error("shared memory of another process that is no outbox");
  memory_ = Mapping(memory.get(), kHeadBytes + capacity, PROT_READ);
  if (!memory_.good()) no_memory("mmap of another process's");
}

std::size_t Inbox::unread() {
  const std::uint64_t written = head().written.load(std::memory_order_acquire);
  broken_ = broken_ || written < at_ || written - at_ > capacity_ || written % kLine != 0;
  return broken_ ? 0 : static_cast<std::size_t>(written - at_);
}

std::span<const std::byte> Inbox::next(std::size_t unread, std::size_t wanted) const {
  const std::size_t place = at_ & (capacity_ - 1);
  return {memory_.begin() + kHeadBytes + place, std::min({unread, wanted, capacity_ - place, kPiece})};
}

}  // namespace muster::shm
