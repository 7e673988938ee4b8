#include "transport/collective/tree_sum/payloads.hpp"

#include "transport/collective/sums/sparse.hpp"

namespace muster {
namespace {

Payloads::Payload dense(const float* values, std::size_t count, Staging::Hold hold) {
  return {{reinterpret_cast<const std::byte*>(values), count * sizeof(float)}, hold};
}

// Of a buffer whose floats were packed.
Payloads::Payload packed(const float* buffer, std::size_t count, Staging::Hold hold) {
  return {{reinterpret_cast<const std::byte*>(buffer), count * sizeof(std::uint16_t)}, hold};
}

std::uint16_t* halves_in(float* buffer) {
  return reinterpret_cast<std::uint16_t*>(buffer);
}

}  // namespace

// ---- what is sent

// In a buffer of its own, if that is smaller.
std::optional<Payloads::Payload> Payloads::thinned(FrameKind kind, std::uint32_t to, const float* values,
                                                   std::size_t count) {
  if (!shape_.thins(kind, to)) return std::nullopt;
  float* const buffer = staging_.take();
  auto* const bytes = reinterpret_cast<std::byte*>(buffer);
  const auto size = pack_sparse(values, count, shape_.wire, bytes, count * sizeof(float));
  if (!size) {
    staging_.give_back(buffer);
    return std::nullopt;
  }
  return Payload{{bytes, *size}, staging_.hold(buffer, 1), count};
}

Payloads::Payload Payloads::of(FrameKind kind, std::uint32_t to, const float* values, std::size_t count) {
  if (const auto thin = thinned(kind, to, values, count)) return *thin;
  if (!shape_.packs(kind, to)) return dense(values, count, Staging::kNone);
  float* const buffer = staging_.take();
  pack(shape_.wire, values, count, halves_in(buffer));
  return packed(buffer, count, staging_.hold(buffer, 1));
}

Payloads::Payload Payloads::of_staged(FrameKind kind, std::uint32_t to, float* buffer, std::size_t count) {
  if (const auto thin = thinned(kind, to, buffer, count)) {
    staging_.give_back(buffer);
    return *thin;
  }
  const Staging::Hold hold = staging_.hold(buffer, 1);
  if (!shape_.packs(kind, to)) return dense(buffer, count, hold);
  pack(shape_.wire, buffer, count, halves_in(buffer));
  return packed(buffer, count, hold);
}

// ---- what comes in

std::size_t Payloads::element_bytes(const Frame& frame) const {
  return shape_.packs(frame.kind, frame.from) ? shape_.wire.bytes() : sizeof(float);
}

std::optional<std::size_t> Payloads::elements_of(const Frame& frame) const {
  const std::size_t each = element_bytes(frame);
  const std::uint64_t sparse = elements_in(frame).sparse;
  if (sparse == 0) return frame.bytes % each == 0 ? std::optional(frame.bytes / each) : std::nullopt;
  // Its bytes lie in a buffer of the staging until they are unpacked.
  if (!shape_.thins(frame.kind, frame.from) || sparse > shape_.chunk_elements) return std::nullopt;
  return frame.bytes < sparse * each ? std::optional<std::size_t>(sparse) : std::nullopt;
}

float* Payloads::unpack_dense(const Frame& frame, std::span<std::byte> payload) const {
  auto* const values = reinterpret_cast<float*>(payload.data());
  if (shape_.packs(frame.kind, frame.from))
    unpack(shape_.wire, halves_in(values), payload.size() / sizeof(std::uint16_t), values);
  return values;
}

bool Payloads::unpack_thin(const Frame& frame, std::span<const std::byte> payload, float* out) const {
  return unpack_sparse(payload, elements_in(frame).sparse, shape_.wire, out);
}

}  // namespace muster
