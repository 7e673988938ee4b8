// Items as bytes, on their way from a loader's process to a shard's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "actors/messages/item.hpp"

namespace muster {

/// Little-endian, without a version: both ends are the same executable. One allocation, of the exact size.
std::vector<std::byte> encode_item(const Item& item);

/// The item that encode_item was given; nothing for bytes that no item encodes to. Input is not trusted:
/// every length is checked before it is used, and no more memory is taken than the input has bytes, apart
/// from a small constant.
std::optional<Item> decode_item(std::span<const std::byte> bytes);

}  // namespace muster
