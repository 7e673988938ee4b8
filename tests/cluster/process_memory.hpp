// A bit that flips in the memory of another process, as in a memory module that fails.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace muster::cluster_test {

struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What a process can write and shares with nobody. Not what is only reserved, as a sanitizer does: nothing
/// that a test looks for is that large.
inline std::vector<MemoryRange> own_memory_of(pid_t process) {
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::vector<MemoryRange> ranges;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    MemoryRange range;
    char dash = 0;
    std::string rights;
    words >> std::hex >> range.begin >> dash >> range.end >> rights;
    if (rights == "rw-p" && range.end - range.begin <= kBytesMax) ranges.push_back(range);
  }
  return ranges;
}

/// Flips a bit of the last of these values wherever they lie one after the other in the process's own memory.
/// Returns in how many places they did. The process is a child of this one, and leaves the values as they are
/// meanwhile.
inline int flip_bit_behind(pid_t process, const std::vector<float>& values) {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  const std::size_t bytes = values.size() * sizeof(float);
  const std::string file = "/proc/" + std::to_string(process) + "/mem";
  const int memory = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(memory, 0) << file << ": " << std::strerror(errno);
  std::vector<char> piece(kPiece + bytes - 1);  // values that begin in it are there to their end
  std::vector<std::uint64_t> found;
  for (const MemoryRange& range : own_memory_of(process)) {
    for (std::uint64_t begin = range.begin; begin < range.end; begin += kPiece) {
      const std::size_t wanted = std::min<std::uint64_t>(piece.size(), range.end - begin);
      const ssize_t got = ::pread(memory, piece.data(), wanted, static_cast<off_t>(begin));
      const char* const end = piece.data() + std::max<ssize_t>(got, 0);
      for (const char* at = piece.data(); at < end; ++at) {
        const auto left = static_cast<std::size_t>(end - at);
        at = static_cast<const char*>(::memmem(at, left, values.data(), bytes));
        if (at == nullptr) break;
        found.push_back(begin + static_cast<std::uint64_t>(at - piece.data()));
      }
    }
  }
  const std::uint32_t flipped = std::bit_cast<std::uint32_t>(values.back()) ^ (1u << 12);
  for (const std::uint64_t at : found)
    EXPECT_EQ(::pwrite(memory, &flipped, 4, static_cast<off_t>(at + bytes - 4)), 4) << std::strerror(errno);
  ::close(memory);
  return static_cast<int>(found.size());
}

}  // namespace muster::cluster_test
