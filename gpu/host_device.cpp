// The host's processor as a compute device. Work is done when its call returns.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <new>

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "gpu/compute_device.hpp"
#include "gpu/device.hpp"

namespace muster {
namespace {

/// Memory from the heap, counted.
class HostMemory {
 public:
  HostMemory() { use_.bound_bytes = std::numeric_limits<std::size_t>::max(); }

  void* take(std::size_t bytes) {
    bytes = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    void* memory = ::operator new (bytes, std::align_val_t{kAlignment});
    const MutexLock lock(mutex_);
    sizes_.emplace(memory, bytes);
    use_.held_bytes = use_.taken_bytes += bytes;
    use_.peak_bytes = std::max(use_.peak_bytes, use_.taken_bytes);
    return memory;
  }

  void give(void* memory) {
    {
      const MutexLock lock(mutex_);
      const auto found = sizes_.find(memory);
      MUSTER_CHECK(found != sizes_.end(), "memory", memory);
      use_.held_bytes = use_.taken_bytes -= found->second;
      sizes_.erase(found);
    }
    ::operator delete (memory, std::align_val_t{kAlignment});
  }

  MemoryUse use() const {
    const MutexLock lock(mutex_);
    return use_;
  }

 private:
  static constexpr std::size_t kAlignment = MemoryPool::kAlignment;
  mutable Mutex mutex_;
  std::map<void*, std::size_t> sizes_ MUSTER_GUARDED_BY(mutex_);
  MemoryUse use_ MUSTER_GUARDED_BY(mutex_);
};

class HostDevice final : public ComputeDevice {
 public:
  const std::string& name() const override { return name_; }
  std::string hardware() const override { return processor_name(); }
  bool is_gpu() const override { return false; }
  void* stream() const override { return nullptr; }

  void* take(std::size_t bytes) override { return memory_.take(bytes); }
  void give(void* memory) noexcept override { memory_.give(memory); }
  void* take_pinned(std::size_t bytes) override { return pinned_.take(bytes); }
  void give_pinned(void* memory) noexcept override { pinned_.give(memory); }
  std::string pin(void*, std::size_t) override { return {}; }  // it copies by itself anyway
  void unpin(void*) noexcept override {}
  MemoryUse memory() const override { return memory_.use(); }
  MemoryUse pinned() const override { return pinned_.use(); }

  // Every mark has been passed.
  Mark mark() override { return {}; }
  bool reached(const Mark&) override { return true; }
  void wait(const Mark&) override {}
  void synchronize() override {}

  VectorOperations& vectors() override { return *vectors_; }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override {
    struct Again final : RecordedWork {
      explicit Again(std::function<void()> what) : work(std::move(what)) {}
      void replay() override { work(); }
      std::function<void()> work;
    };
    return std::make_unique<Again>(work);
  }

 private:
  void put_copy(const void* from, void* to, std::size_t bytes, Direction) override {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  Mark put_aside(const Mark&, const void* from, void* host, std::size_t bytes) override {
    put_copy(from, host, bytes, Direction::out);
    return {};
  }
  void put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                std::size_t rows) override {
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(static_cast<std::byte*>(host) + i * width, static_cast<const std::byte*>(from) + i * stride,
                  width);
  }
  void put_zeros(void* to, std::size_t bytes) override {
    if (bytes != 0) std::memset(to, 0, bytes);
  }
  void put_value(const void* value, std::size_t bytes, void* to) override { std::memcpy(to, value, bytes); }
  void forget(void*) noexcept override {}

  const std::string name_ = "cpu";
  const std::unique_ptr<VectorOperations> vectors_ = make_host_vectors();
  HostMemory memory_, pinned_;
};

}  // namespace

std::shared_ptr<ComputeDevice> make_host_device() {
  return std::make_shared<HostDevice>();
}

}  // namespace muster
