#include "gpu/memory_pool.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string mebibytes(std::size_t bytes) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return text.str();
}

}  // namespace

MemoryPool::MemoryPool(Options options, Source source)
    : options_(std::move(options)), source_(std::move(source)) {
  use_.bound_bytes = options_.bound_bytes;
}

MemoryPool::~MemoryPool() {
  for (const auto& [where, block] : blocks_)
    if (block.begins_segment) source_.give_back(where);
}

void* MemoryPool::take(std::size_t bytes) {
  if (bytes > options_.bound_bytes) refuse(bytes);  // and so the rounding below does not overflow
  bytes = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const bool small = bytes <= kSmallMax;
  const auto fit = free_.lower_bound({small, bytes, nullptr});
  const bool found = fit != free_.end() && std::get<bool>(*fit) == small;
  const auto block = found ? blocks_.find(std::get<std::byte*>(*fit)) : grow(bytes, small);
  free_.erase({small, block->second.bytes, block->first});
  const std::size_t rest = block->second.bytes - bytes;
  if (rest > 0) {
    std::byte* const next = block->first + bytes;
    blocks_.emplace(next, Block{rest, false, false, small});
    free_.emplace(small, rest, next);
    block->second.bytes = bytes;
  }
  block->second.taken = true;
  count_taken(bytes);
  return block->first;
}

void MemoryPool::count_taken(std::size_t bytes) {
  use_.taken_bytes += bytes;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.taken_bytes);
}

bool MemoryPool::set_aside(std::size_t bytes) {
  if (room() < bytes) trim();
  if (room() < bytes) return false;
  aside_ += bytes;
  use_.held_bytes += bytes;
  count_taken(bytes);
  return true;
}

void MemoryPool::put_back(std::size_t bytes) {
  MUSTER_CHECK(bytes <= aside_, "bytes", bytes, "of", options_.memory);
  aside_ -= bytes;
  use_.held_bytes -= bytes;
  use_.taken_bytes -= bytes;
}

void MemoryPool::give(void* memory) {
  auto block = blocks_.find(static_cast<std::byte*>(memory));
  MUSTER_CHECK(block != blocks_.end() && block->second.taken, "memory", memory, "of", options_.memory);
  block->second.taken = false;
  use_.taken_bytes -= block->second.bytes;
  absorb_next(block);
  if (!block->second.begins_segment) {
    const auto before = std::prev(block);
    if (!before->second.taken) {
      free_.erase({before->second.small, before->second.bytes, before->first});
      absorb_next(before);
      block = before;
    }
  }
  free_.emplace(block->second.small, block->second.bytes, block->first);
}

void MemoryPool::trim() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    if (block->second.taken || !fills_segment(block)) {
      ++block;
      continue;
    }
    free_.erase({block->second.small, block->second.bytes, block->first});
    use_.held_bytes -= block->second.bytes;
    source_.give_back(block->first);
    block = blocks_.erase(block);
  }
}

// A new free segment of at least so many bytes.
MemoryPool::Blocks::iterator MemoryPool::grow(std::size_t bytes, bool small) {
  if (room() < rounded_up(bytes, kSegment)) trim();
  if (room() < bytes) refuse(bytes);
  const std::size_t most = room() / kAlignment * kAlignment;
  const std::size_t segment = std::min(rounded_up(bytes, kSegment), most);
  if (segment < bytes) refuse(bytes);
  void* memory = source_.obtain(segment);
  if (memory == nullptr) {
    trim();
    memory = source_.obtain(segment);
  }
  if (memory == nullptr)
    throw Error(options_.memory + ": no memory left for " + mebibytes(segment) + " more; Muster holds " +
                mebibytes(use_.held_bytes));
  use_.held_bytes += segment;
  auto* const where = static_cast<std::byte*>(memory);
  free_.emplace(small, segment, where);
  return blocks_.emplace(where, Block{segment, false, true, small}).first;
}

bool MemoryPool::fills_segment(Blocks::const_iterator block) const {
  const auto next = std::next(block);
  return block->second.begins_segment && (next == blocks_.end() || next->second.begins_segment);
}

// `block` and the one behind it, if that is free and of the same segment, become one. Neither is in free_
// afterwards but for `block`, if it was.
void MemoryPool::absorb_next(Blocks::iterator block) {
  const auto next = std::next(block);
  if (next == blocks_.end() || next->second.taken || next->second.begins_segment) return;
  free_.erase({next->second.small, next->second.bytes, next->first});
  block->second.bytes += next->second.bytes;
  blocks_.erase(next);
}

void MemoryPool::refuse(std::size_t bytes) const {
  const std::string what = options_.memory + ": " + mebibytes(bytes) + " more would exceed the bound of " +
                           mebibytes(options_.bound_bytes) + "; " + mebibytes(use_.taken_bytes) +
                           " are in use";
  if (options_.key.empty()) throw Error(what + "; give the device a higher bound");
  throw JobError(options_.key, what + "; " + options_.key + " changes it");
}

}  // namespace muster
