// Memory for what is sent: other processes of this host read it where it lies, and copy nothing. To all
// others it is ordinary memory.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace muster {

/// Below it, to copy is as quick.
inline constexpr std::size_t kBorrowableBytesMin = std::size_t{32} << 10;

/// Zeroed memory, aligned to 64 bytes at least. Small pieces, and all where the kernel gives no shared
/// memory, are ordinary memory. Throws std::bad_alloc. Any thread.
void* allocate_borrowable(std::size_t bytes);
/// Whoever still reads it keeps it for as long as it does.
void free_borrowable(void* memory, std::size_t bytes) noexcept;

template <class T>
struct BorrowableAllocator {
  using value_type = T;
  BorrowableAllocator() = default;
  template <class U>
  BorrowableAllocator(const BorrowableAllocator<U>&) noexcept {}  // NOLINT: converts, as allocators do
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_borrowable(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { free_borrowable(memory, count * sizeof(T)); }
  bool operator==(const BorrowableAllocator&) const = default;
};

/// Floats that others may borrow.
using Floats = std::vector<float, BorrowableAllocator<float>>;

/// As many floats, 0 at first.
class FloatBuffer {
 public:
  explicit FloatBuffer(std::size_t count)
      : begin_(static_cast<float*>(allocate_borrowable(count * sizeof(float)))), count_(count) {}
  FloatBuffer(FloatBuffer&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), count_(other.count_) {}
  FloatBuffer& operator=(FloatBuffer&&) = delete;
  ~FloatBuffer() {
    if (begin_ != nullptr) free_borrowable(begin_, count_ * sizeof(float));
  }
  float* get() const { return begin_; }

 private:
  float* begin_;
  std::size_t count_;
};

}  // namespace muster
