#include "tests/unit/allocation/counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> watched{false};
std::atomic<std::size_t> allocations{0}, allocated{0};

void* counted(std::size_t bytes, std::size_t align) {
  if (watched.load(std::memory_order_relaxed)) {
    ++allocations;
    allocated += bytes;
  }
  if (void* made =
          align == 0 ? std::malloc(bytes) : std::aligned_alloc(align, (bytes + align - 1) / align * align))
    return made;
  throw std::bad_alloc();
}

}  // namespace

// What the standard library's other forms come down to.
void* operator new(std::size_t bytes) {
  return counted(bytes == 0 ? 1 : bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace muster::testing {

AllocationWatch::AllocationWatch() {
  allocations = allocated = 0;
  watched = true;
}
AllocationWatch::~AllocationWatch() {
  watched = false;
}
std::size_t AllocationWatch::count() const {
  return allocations;
}
std::size_t AllocationWatch::bytes() const {
  return allocated;
}

}  // namespace muster::testing
