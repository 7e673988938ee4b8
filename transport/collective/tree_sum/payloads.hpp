// The elements of sums and results as payloads, and back. Within a host they go as they are; between hosts as
// the shape has it: as they are, packed into 16 bits, or sparse where that is smaller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/collective/sums/staging.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster {

class Payloads {
 public:
  /// What is sent; `hold` is released when the send has ended (kNone: nothing is held).
  struct Payload {
    std::span<const std::byte> bytes;
    Staging::Hold hold = Staging::kNone;
    std::uint64_t sparse_elements = 0;  ///< how many it has, if it is sparse; else 0
  };

  /// Both outlive this object.
  Payloads(const ReductionShape& shape, Staging& staging) : shape_(shape), staging_(staging) {}

  /// Elements that stay where they are until they are sent, or as long as the hold lasts.
  Payload of(FrameKind kind, std::uint32_t to, const float* values, std::size_t count);
  /// Elements in a buffer of the staging, which goes back when the send has ended.
  Payload of_staged(FrameKind kind, std::uint32_t to, float* buffer, std::size_t count);

  /// The elements that a frame of a member brings; nothing if its size cannot be.
  std::optional<std::size_t> elements_of(const Frame& frame) const;
  static bool sparse(const Frame& frame) { return elements_in(frame).sparse != 0; }
  /// Makes floats of a dense payload, within the same memory, which has room for them.
  float* unpack_dense(const Frame& frame, std::span<std::byte> payload) const;
  /// Makes floats of a sparse payload; false if it cannot be.
  bool unpack_thin(const Frame& frame, std::span<const std::byte> payload, float* out) const;

 private:
  std::size_t element_bytes(const Frame& frame) const;
  std::optional<Payload> thinned(FrameKind kind, std::uint32_t to, const float* values, std::size_t count);

  const ReductionShape& shape_;
  Staging& staging_;
};

}  // namespace muster
