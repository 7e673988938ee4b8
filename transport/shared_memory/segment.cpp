#include "transport/shared_memory/segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <new>
#include <string>

#include "base/mutex.hpp"
#include "muster/error.hpp"
#include "transport/borrowable.hpp"
#include "transport/shared_memory/seals.hpp"

namespace muster {
namespace {

constexpr std::align_val_t kAlign{64};
// Each takes a file descriptor, of which a process may have a thousand; beyond, memory is ordinary.
constexpr std::size_t kSegmentsMax = 256;

struct Segment {
  std::uint64_t number = 0;
  shm::Mapping memory;
  std::size_t bytes = 0;
  shm::Descriptor readable;
};

// All of this process, by where they begin.
class Segments {
 public:
  static Segments& all() {
    static auto* const segments = new Segments;  // outlives whatever is freed at the end of the process
    return *segments;
  }

  void* add(std::size_t bytes) {
    if (count() >= kSegmentsMax) return nullptr;
    Segment made;
    const shm::Descriptor memory = shm::new_shared_memory("muster-buffer", bytes);
    if (!memory) return nullptr;
    made.memory = shm::Mapping(memory.get(), bytes, PROT_READ | PROT_WRITE);
    if (!made.memory.good()) return nullptr;
    made.readable = shm::seal_for_readers(memory);
    if (!made.readable) return nullptr;
    made.bytes = bytes;
    void* begin = made.memory.begin();
    const MutexLock lock(mutex_);
    made.number = ++last_;
    places_[made.number] = made.memory.begin();
    segments_.emplace(made.memory.begin(), std::move(made));
    return begin;
  }

  std::size_t count() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return segments_.size();
  }

  bool remove(void* begin) {
    const MutexLock lock(mutex_);
    const auto found = segments_.find(static_cast<std::byte*>(begin));
    if (found == segments_.end()) return false;
    places_.erase(found->second.number);
    segments_.erase(found);
    ++freed_;
    return true;
  }

  std::optional<shm::SegmentPlace> holding(std::span<const std::byte> payload) {
    const MutexLock lock(mutex_);
    auto found = segments_.upper_bound(const_cast<std::byte*>(payload.data()));
    if (found == segments_.begin()) return std::nullopt;
    const Segment& segment = (--found)->second;
    const auto offset = static_cast<std::size_t>(payload.data() - found->first);
    if (offset > segment.bytes || payload.size() > segment.bytes - offset) return std::nullopt;
    return shm::SegmentPlace{segment.number, offset, segment.bytes, segment.readable.get()};
  }

  bool lives(std::uint64_t number) {
    const MutexLock lock(mutex_);
    return places_.contains(number);
  }
  std::uint64_t freed() const { return freed_.load(std::memory_order_acquire); }

 private:
  Mutex mutex_;
  std::map<std::byte*, Segment> segments_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::byte*> places_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t last_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> freed_{0};
};

}  // namespace

void* allocate_borrowable(std::size_t bytes) {
  if (bytes >= kBorrowableBytesMin) {
    if (void* const memory = Segments::all().add(bytes)) return memory;
  }
  void* const memory = ::operator new(bytes, kAlign);
  std::fill_n(static_cast<std::byte*>(memory), bytes, std::byte{0});
  return memory;
}

void free_borrowable(void* memory, std::size_t bytes) noexcept {
  if (bytes >= kBorrowableBytesMin && Segments::all().remove(memory)) return;
  ::operator delete(memory, kAlign);
}

namespace shm {

std::optional<SegmentPlace> segment_of(std::span<const std::byte> payload) {
  return Segments::all().holding(payload);
}

bool segment_lives(std::uint64_t segment) {
  return Segments::all().lives(segment);
}

std::uint64_t segments_freed() {
  return Segments::all().freed();
}

ForeignSegment::ForeignSegment(const Descriptor& memory, std::size_t bytes) : bytes_(bytes) {
  if (!stays_whole(memory, bytes)) throw Error("shared memory of another process that could be taken away");
  memory_ = Mapping(memory.get(), bytes, PROT_READ);
  if (!memory_.good()) throw Error("shared memory: mmap of another process's");
}

std::optional<std::span<const std::byte>> ForeignSegment::at(std::uint64_t offset, std::size_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) return std::nullopt;
  return std::span<const std::byte>(memory_.begin() + offset, bytes);
}

}  // namespace shm
}  // namespace muster
