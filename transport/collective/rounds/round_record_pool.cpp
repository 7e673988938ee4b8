#include "transport/collective/rounds/round_record_pool.hpp"

#include <memory_resource>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace muster {

struct RoundRecordPool::Memory {
  Mutex mutex;
  std::vector<std::unique_ptr<RoundRecord>> free MUSTER_GUARDED_BY(mutex);
  std::pmr::unsynchronized_pool_resource counters MUSTER_GUARDED_BY(mutex);  // of shared pointers
};

struct RoundRecordPool::GiveBack {
  std::shared_ptr<Memory> memory;

  void operator()(RoundRecord* record) const {
    std::unique_ptr<RoundRecord> owned(record);
    const MutexLock lock(memory->mutex);
    memory->free.push_back(std::move(owned));
  }
};

// Holds the memory until the counters of the last record have gone back to it.
template <class T>
struct RoundRecordPool::Allocator {
  using value_type = T;
  explicit Allocator(std::shared_ptr<Memory> kept) : memory(std::move(kept)) {}
  template <class U>
  Allocator(const Allocator<U>& other) : memory(other.memory) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    const MutexLock lock(memory->mutex);
    return static_cast<T*>(memory->counters.allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* at, std::size_t count) {
    const MutexLock lock(memory->mutex);
    memory->counters.deallocate(at, count * sizeof(T), alignof(T));
  }
  template <class U>
  bool operator==(const Allocator<U>& other) const {
    return memory == other.memory;
  }

  std::shared_ptr<Memory> memory;
};

RoundRecordPool::RoundRecordPool() : memory_(std::make_shared<Memory>()) {}

std::shared_ptr<RoundRecord> RoundRecordPool::take() {
  std::unique_ptr<RoundRecord> record;
  {
    const MutexLock lock(memory_->mutex);
    if (!memory_->free.empty()) {
      record = std::move(memory_->free.back());
      memory_->free.pop_back();
    }
  }
  if (!record) record = std::make_unique<RoundRecord>();
  auto shards = std::move(record->shards);
  auto metrics = std::move(record->metrics);
  shards.clear();
  metrics.clear();
  *record = RoundRecord{};
  record->shards = std::move(shards);
  record->metrics = std::move(metrics);
  return {record.release(), GiveBack{memory_}, Allocator<std::byte>(memory_)};
}

}  // namespace muster
