// A quick hash of floats, by which replicas compare what must be the same bits. Every changed bit changes it;
// it is no defense against those who want two vectors to have the same one.
#pragma once

#include <cstdint>
#include <span>

namespace muster {

/// A function of the bits and their number. Any thread.
std::uint64_t block_hash(std::span<const float> values);

}  // namespace muster
