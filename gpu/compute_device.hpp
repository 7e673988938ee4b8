// The device that one replica computes on: its memory, copies, waiting, and the arithmetic on vectors
// (vector_operations.hpp). Two kinds: the host's processor, and a CUDA GPU.
//
// Work is done in the order in which it is put, as if by one thread of the device (the compute stream). On a
// GPU a call returns before its work is done, and operands must live, unchanged by others, until then: wait
// for a mark, or synchronize. On the host work is done when the call returns. Spans are memory of the device
// but where a parameter says `host`. `out` may be an operand, and must not overlap one otherwise.
//
// Calls come from one thread at a time; arrays and marks may be made and destroyed on any thread. Calls on a
// GPU throw Error with the GPU, the call and CUDA's words, which may be about work put before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/memory_pool.hpp"
#include "gpu/vector_operations.hpp"

namespace muster {

class ComputeDevice;

/// A point in a device's work; passed once all that was put before it is done. An empty mark has always been
/// passed.
class Mark {
 public:
  Mark() = default;
  Mark(std::shared_ptr<ComputeDevice> device, void* event) : device_(std::move(device)), event_(event) {}
  Mark(Mark&& other) noexcept;
  Mark& operator=(Mark&& other) noexcept;
  ~Mark();

  /// What the device knows it by (a cudaEvent_t); null when empty.
  void* event() const { return event_; }

 private:
  std::shared_ptr<ComputeDevice> device_;
  void* event_ = nullptr;
};

/// Work that was recorded once and can be put again as a whole. Not after the memory that it names has gone.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void replay() = 0;
};

class ComputeDevice : public std::enable_shared_from_this<ComputeDevice> {
 public:
  virtual ~ComputeDevice() = default;

  virtual const std::string& name() const = 0;  ///< "cpu", "cuda:0"
  virtual std::string hardware() const = 0;     ///< for people: "NVIDIA H200", or the processor's name
  virtual bool is_gpu() const = 0;              ///< false: the host can read and write its memory
  virtual void* stream() const = 0;             ///< the cudaStream_t of the work; null on the host

  // --- memory (rather use DeviceArray and PinnedArray) ---

  /// Memory of the device at a multiple of 256 bytes, with any content. JobError or Error when the bound, or
  /// the device, has no more. Memory that was given may be taken again at once: work put before is done
  /// first.
  virtual void* take(std::size_t bytes) = 0;
  virtual void give(void* memory) noexcept = 0;
  /// The same of host memory that a GPU copies from and to by itself. give_pinned waits for all work.
  virtual void* take_pinned(std::size_t bytes) = 0;
  virtual void give_pinned(void* memory) noexcept = 0;
  /// Pins memory of the host that is there already: as if take_pinned had given it. Says why not, where the
  /// system refuses or the bound of pinned memory is reached; empty: done. unpin comes before that memory
  /// goes, and waits for all work. Rather use PinnedRange (pinned_range.hpp).
  virtual std::string pin(void* host, std::size_t bytes) = 0;
  virtual void unpin(void* host) noexcept = 0;
  virtual MemoryUse memory() const = 0;
  virtual MemoryUse pinned() const = 0;

  // --- copies ---

  /// Of the type of what it is copied to.
  template <class T>
  using Source = std::type_identity_t<std::span<const T>>;

  template <class T>
  void copy_in(Source<T> host, std::span<T> to) {
    check_same_size(host.size(), to.size());
    put_copy(host.data(), to.data(), host.size_bytes(), Direction::in);
  }
  template <class T>
  void copy_out(Source<T> from, std::span<T> host) {
    check_same_size(from.size(), host.size());
    put_copy(from.data(), host.data(), from.size_bytes(), Direction::out);
  }
  /// Rows of `width` elements, `stride` apart in `from`: one after the other to `host`, as many as fit there.
  template <class T>
  void copy_out_rows(Source<T> from, std::size_t stride, std::size_t width, std::span<T> host) {
    check_rows(from.size(), stride, width, host.size());
    put_rows(from.data(), stride * sizeof(T), host.data(), width * sizeof(T), host.size() / width);
  }
  /// Beside the other work: begins when `after` has been passed, whatever was put since. The mark is passed
  /// when the copy is done. Pinned memory, or it is neither quick nor beside anything.
  template <class T>
  [[nodiscard]] Mark copy_out_aside(const Mark& after, Source<T> from, std::span<T> host) {
    check_same_size(from.size(), host.size());
    return put_aside(after, from.data(), host.data(), from.size_bytes());
  }
  template <class T>
  void zero(std::span<T> values) {
    put_zeros(values.data(), values.size_bytes());
  }
  /// Puts a small value (at most 64 bytes) where `to` is, in the order of the work.
  template <class T>
  void set(const T& value, T* to) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kSetBytesMax);
    put_value(&value, sizeof value, to);
  }

  // --- waiting ---

  [[nodiscard]] virtual Mark mark() = 0;       ///< behind all work put so far
  virtual bool reached(const Mark& mark) = 0;  ///< does not block
  virtual void wait(const Mark& mark) = 0;     ///< blocks the calling thread
  virtual void synchronize() = 0;              ///< blocks until all work is done, copies aside as well

  /// Arithmetic on vectors in its memory, as work of this device. It goes with the device.
  virtual VectorOperations& vectors() = 0;

  // --- recording ---

  /// Calls `work`, which puts work on this device, and keeps it instead of doing it. `work` neither takes nor
  /// gives memory, waits for nothing, and sets nothing that another replay would want otherwise. The host
  /// keeps `work` itself and calls it at each replay.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>& work) = 0;

 protected:
  enum class Direction { in, out };
  static constexpr std::size_t kSetBytesMax = 64;

  virtual void put_copy(const void* from, void* to, std::size_t bytes, Direction direction) = 0;
  virtual Mark put_aside(const Mark& after, const void* from, void* host, std::size_t bytes) = 0;
  /// In bytes.
  virtual void put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                        std::size_t rows) = 0;
  virtual void put_zeros(void* to, std::size_t bytes) = 0;
  virtual void put_value(const void* value, std::size_t bytes, void* to) = 0;

  static void check_rows(std::size_t from, std::size_t stride, std::size_t width, std::size_t to);

 private:
  friend class Mark;
  virtual void forget(void* event) noexcept = 0;
};

/// An array in a device's memory, zeros at first. Keeps its device alive.
template <class T>
class DeviceArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  DeviceArray() = default;
  DeviceArray(std::shared_ptr<ComputeDevice> device, std::size_t count)
      : memory_(count == 0 ? nullptr : device->take(count * sizeof(T)), Give{device}), count_(count) {
    if (count != 0) device->zero(span());
  }

  std::span<T> span() const { return {data(), size()}; }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return memory_ ? count_ : 0; }
  bool empty() const { return size() == 0; }

 private:
  struct Give {
    std::shared_ptr<ComputeDevice> device;
    void operator()(void* memory) const { device->give(memory); }
  };
  std::unique_ptr<void, Give> memory_;
  std::size_t count_ = 0;
};

/// An array in host memory that the device copies from and to by itself; zeros at first. Keeps its device
/// alive, and waits for the device when it goes.
template <class T>
class PinnedArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  PinnedArray() = default;
  PinnedArray(std::shared_ptr<ComputeDevice> device, std::size_t count)
      : memory_(count == 0 ? nullptr : device->take_pinned(count * sizeof(T)), Give{device}), count_(count) {
    for (T& value : span()) value = T{};
  }

  std::span<T> span() const { return {data(), size()}; }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return memory_ ? count_ : 0; }
  bool empty() const { return size() == 0; }

 private:
  struct Give {
    std::shared_ptr<ComputeDevice> device;
    void operator()(void* memory) const { device->give_pinned(memory); }
  };
  std::unique_ptr<void, Give> memory_;
  std::size_t count_ = 0;
};

using DeviceFloats = DeviceArray<float>;
using PinnedFloats = PinnedArray<float>;

/// How much a GPU's memory may be used for arrays. (libtorch takes memory for itself beside it.)
struct DeviceMemory {
  std::size_t bound_bytes = 0;  ///< of the GPU; 0: all that is free when the device is made
  std::size_t pinned_bound_bytes = std::size_t{4} << 30;  ///< of the host; pinned memory is never swapped
  std::string key;         ///< of the job, that changes bound_bytes; for messages. Empty: none
  std::string pinned_key;  ///< the same of pinned_bound_bytes
};

std::shared_ptr<ComputeDevice> make_host_device();

/// K of "cuda:K"; -1 for any other name.
int gpu_number(const std::string& device);

/// "cpu" or "cpu:K": the host. "cuda:K": the K-th GPU that the CUDA runtime sees; Error with the
/// reason where it cannot be used, or for another name.
std::shared_ptr<ComputeDevice> make_compute_device(const std::string& name, const DeviceMemory& memory = {});

}  // namespace muster
