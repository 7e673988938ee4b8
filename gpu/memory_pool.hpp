// Which memory of a device is taken and which is free: bookkeeping only, it reads and writes none of it.
// Taking memory from a GPU's driver stops the GPU; so what is given back is kept for the next one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace muster {

struct MemoryUse {
  std::size_t taken_bytes = 0;  ///< by arrays, each rounded up to a multiple of 256
  std::size_t peak_bytes = 0;   ///< the most that was ever taken
  std::size_t held_bytes = 0;   ///< taken, or kept for the next one
  std::size_t bound_bytes = 0;  ///< held_bytes never goes beyond
};

/// Best fit in segments, which are cut as needed and put together again. Small blocks have segments of their
/// own, so that they do not cut the large ones into pieces. One thread at a time.
class MemoryPool {
 public:
  struct Options {
    std::size_t bound_bytes = 0;
    std::string memory;  ///< whose, for messages: "cuda:0", say
    std::string key;     ///< of the job, that changes the bound; empty: none
  };
  /// Where segments come from: `obtain` returns null when there is no more.
  struct Source {
    std::function<void*(std::size_t bytes)> obtain;
    std::function<void(void* segment)> give_back;
  };

  static constexpr std::size_t kAlignment = 256;
  static constexpr std::size_t kSmallMax = std::size_t{1} << 20;
  static constexpr std::size_t kSegment = std::size_t{2}
                                          << 20;  ///< sizes are multiples, unless the bound is near

  MemoryPool(Options options, Source source);
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  /// Gives all segments back, whatever is taken.
  ~MemoryPool();

  /// At least `bytes`, at a multiple of kAlignment (as segments are). JobError that names the bound and its
  /// key, or Error when the source has no more; nothing has changed then but that free segments are given
  /// back.
  void* take(std::size_t bytes);
  /// What `take` returned; a bug otherwise.
  void give(void* memory);
  /// Gives segments that are wholly free back to the source.
  void trim();

  /// Counts memory that is not the pool's as taken and held, within the same bound. Returns whether there was
  /// room; if not, nothing has changed but that free segments are given back.
  bool set_aside(std::size_t bytes);
  /// Ends what `set_aside` began, for as many bytes.
  void put_back(std::size_t bytes);

  const MemoryUse& use() const { return use_; }

 private:
  struct Block {
    std::size_t bytes = 0;
    bool taken = false;
    bool begins_segment = false;
    bool small = false;
  };
  using Blocks = std::map<std::byte*, Block>;             // by address: neighbors are neighbors
  using Fit = std::tuple<bool, std::size_t, std::byte*>;  // small, bytes, where

  Blocks::iterator grow(std::size_t bytes, bool small);
  bool fills_segment(Blocks::const_iterator block) const;
  void absorb_next(Blocks::iterator block);
  std::size_t room() const { return options_.bound_bytes - use_.held_bytes; }
  void count_taken(std::size_t bytes);
  [[noreturn]] void refuse(std::size_t bytes) const;

  Options options_;
  Source source_;
  Blocks blocks_;
  std::set<Fit> free_;
  std::size_t aside_ = 0;  // bytes, of what use_ counts
  MemoryUse use_;
};

}  // namespace muster
