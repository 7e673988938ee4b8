// Buckets: the parts of the vector that go out one by one while the rest is still being computed. Where they
// lie follows from two numbers alone, so all members agree; it has no say in the bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.hpp"

namespace muster {

/// Elements [begin, end) of the vector.
struct ElementRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t count() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};

class Buckets {
 public:
  /// Of `size` elements each, rounded up to whole cache lines; the last one may be shorter. A size of 0: one
  /// bucket.
  Buckets(std::size_t elements, std::size_t size)
      : elements_(elements),
        size_(size == 0 ? std::max<std::size_t>(elements, 1) : (size + kAlign - 1) / kAlign * kAlign) {}

  std::size_t count() const { return (elements_ + size_ - 1) / size_; }
  ElementRange operator[](std::size_t bucket) const {
    return {bucket * size_, std::min((bucket + 1) * size_, elements_)};
  }
  std::size_t of(std::size_t element) const { return element / size_; }

  /// The size that suits a vector if nobody says more: the first one is soon there, and each is worth its
  /// messages, of which there are as many as members. An eighth, of 256 KiB to 4 MiB; for more than 16
  /// members 256 KiB for each (docs/measurements/scaling.md).
  static std::size_t suitable(std::size_t elements, std::size_t members) {
    constexpr std::size_t kPart = 64 * 1024;
    return std::max(std::clamp(elements / 8, kPart, 16 * kPart), members * kPart);
  }

  static constexpr std::size_t kAlign = 16;  ///< floats of a cache line

 private:
  std::size_t elements_;
  std::size_t size_;
};

/// The range of one of so many owners in a bucket. Ranges lie in the order of the owners and begin at cache
/// lines; some are empty if there are more owners than lines.
inline ElementRange range_of_owner(ElementRange bucket, std::size_t owner, std::size_t owners) {
  const std::size_t lines = (bucket.count() + Buckets::kAlign - 1) / Buckets::kAlign;
  const auto at = [&](std::size_t place) {
    return std::min(bucket.end, bucket.begin + lines * place / owners * Buckets::kAlign);
  };
  return {at(owner), at(owner + 1)};
}

/// Which buckets are complete. Each element is said to be ready once, in any order. One thread.
class BucketsReady {
 public:
  explicit BucketsReady(const Buckets& buckets) : buckets_(buckets), left_(buckets.count()) { start(); }

  void start() {
    for (std::size_t bucket = 0; bucket < left_.size(); ++bucket) left_[bucket] = buckets_[bucket].count();
  }

  /// Calls `complete(ElementRange)` for every bucket that these elements complete, last ones first: so does a
  /// backward pass.
  template <class Complete>
  void ready(ElementRange elements, Complete&& complete) {
    if (elements.count() == 0) return;
    for (std::size_t next = buckets_.of(elements.end - 1) + 1; next-- > buckets_.of(elements.begin);) {
      const ElementRange bucket = buckets_[next];
      const std::size_t part = std::min(elements.end, bucket.end) - std::max(elements.begin, bucket.begin);
      MUSTER_CHECK(part <= left_[next], elements.begin, elements.end, "said to be ready twice");
      left_[next] -= part;
      if (left_[next] == 0) complete(bucket);
    }
  }

 private:
  Buckets buckets_;
  std::vector<std::size_t> left_;  // elements, by bucket
};

}  // namespace muster
