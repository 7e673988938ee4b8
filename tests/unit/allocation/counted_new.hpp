// Counts what is allocated in this program while a watch stands.
#pragma once

#include <cstddef>

namespace muster::testing {

/// Of all threads, from its construction on. One at a time.
class AllocationWatch {
 public:
  AllocationWatch();
  ~AllocationWatch();
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;

  std::size_t count() const;
  std::size_t bytes() const;
};

}  // namespace muster::testing
