// Owners of what the kernel hands out: a file descriptor, a piece of mapped memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace muster::shm {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

class Mapping {
 public:
  Mapping() = default;
  /// Not `good()` if the kernel refuses.
  Mapping(int descriptor, std::size_t bytes, int protection)
      : begin_(::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, MAP_FAILED)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (good()) ::munmap(begin_, bytes_);
  }

  bool good() const { return begin_ != MAP_FAILED; }
  std::byte* begin() const { return static_cast<std::byte*>(begin_); }

 private:
  void* begin_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

}  // namespace muster::shm
