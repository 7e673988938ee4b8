// A file that lies in memory and has a path, for decoders that read files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {

/// Holds the bytes as long as it lives.
class MemoryFile {
 public:
  explicit MemoryFile(Input content) : descriptor_(::memfd_create("muster-fuzz", MFD_CLOEXEC)) {
    MUSTER_CHECK(descriptor_ >= 0);
    while (!content.empty()) {
      const auto written = ::write(descriptor_, content.data(), content.size());
      MUSTER_CHECK(written > 0);
      content = content.subspan(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace muster::fuzz
