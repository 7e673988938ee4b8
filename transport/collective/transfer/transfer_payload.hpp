// What one member transfers to another whole, and is too large for one message: a record, or a state. It goes
// out in pieces of one size, each with a check of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/frames/transfer_bodies.hpp"

namespace muster {

/// Bytes that lie in parts, each where it is. Fixed once it is made; then any thread may read it.
class TransferPayload {
 public:
  /// `keep`: what the parts that are not its own point into.
  explicit TransferPayload(std::shared_ptr<const void> keep = nullptr) : keep_(std::move(keep)) {}
  TransferPayload(const TransferPayload&) = delete;
  TransferPayload& operator=(const TransferPayload&) = delete;

  void add(std::vector<std::byte> own);
  void add(std::span<const std::byte> part);

  std::uint64_t bytes() const { return bytes_; }
  /// Copies the bytes from `offset` on; all of them must be there.
  void copy(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  struct Part {
    std::uint64_t begin = 0;
    std::span<const std::byte> bytes;
  };

  std::shared_ptr<const void> keep_;
  std::vector<std::vector<std::byte>> own_;
  std::vector<Part> parts_;
  std::uint64_t bytes_ = 0;
};

/// Whether a transfer that is cut into pieces of `piece_bytes` has this one: it begins at a multiple of that,
/// and is as long, or ends with the transfer.
bool fits(const PieceBody& piece, std::size_t piece_bytes);

/// By which a damaged piece is told from a whole one.
std::uint32_t piece_check(std::span<const std::byte> piece);

}  // namespace muster
