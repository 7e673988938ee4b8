#include "actors/sources/token_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "muster/fingerprint.hpp"

namespace muster {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // a multiple of every token's width

std::uint64_t token_at(const std::byte* at, std::uint32_t bytes) {
  std::uint64_t token = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) token |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return token;
}

std::string type_text(std::uint32_t bytes) {
  return "uint" + std::to_string(8 * bytes);
}

/// Closes the descriptor also where the constructor throws.
class Closer {
 public:
  explicit Closer(int& descriptor) : descriptor_(&descriptor) {}
  ~Closer() {
    if (descriptor_ != nullptr && *descriptor_ >= 0) ::close(*descriptor_);
  }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  void keep() { descriptor_ = nullptr; }

 private:
  int* descriptor_;
};

}  // namespace

TokenFile::TokenFile(const std::string& path, std::uint32_t bytes, std::uint64_t vocabulary,
                     const std::string& key)
    : path_(path), key_(key), bytes_(bytes) {
  MUSTER_CHECK(bytes == 1 || bytes == 2 || bytes == 4, bytes);
  Closer closer(descriptor_);
  const std::uint64_t content = open();
  if (content % bytes_ != 0)
    fail("has " + std::to_string(content) + " bytes, which are no whole number of " + type_text(bytes_) +
         " tokens: it is cut off, or data.type is another one");
  size_ = content / bytes_;
  if (size_ < 2)
    fail("has " + std::to_string(size_) + " tokens; at least 2 are needed, for one to be predicted");
  look_through(vocabulary);
  closer.keep();
}

TokenFile::~TokenFile() {
  ::close(descriptor_);
}

void TokenFile::fail(const std::string& what) const {
  throw JobError(key_, path_ + " " + what);
}

std::uint64_t TokenFile::open() {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be opened: " + std::string(std::strerror(errno)));
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("cannot be read: " + std::string(std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) fail("is not a regular file");
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t TokenFile::read_bytes(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t got = 0;
  while (got < out.size()) {
    const auto part =
        ::pread(descriptor_, out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) throw Error(path_ + " cannot be read: " + std::string(std::strerror(errno)));
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

void TokenFile::look_through(std::uint64_t vocabulary) {
  Fingerprint print;
  print.add(std::uint64_t{bytes_});
  std::vector<std::byte> chunk(kChunkBytes);
  const std::uint64_t content = size_ * bytes_;
  for (std::uint64_t offset = 0; offset < content; offset += kChunkBytes) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, content - offset));
    const auto part = std::span(chunk).first(wanted);
    if (read_bytes(offset, part) != wanted) fail("became shorter while it was read");
    print.add(part);
    for (std::size_t at = 0; at < wanted; at += bytes_) {
      const std::uint64_t token = token_at(part.data() + at, bytes_);
      if (token < vocabulary) continue;
      fail("holds token " + std::to_string(token) + " at position " + std::to_string((offset + at) / bytes_) +
           ", but data.vocabulary = " + std::to_string(vocabulary) + ": raise it to at least " +
           std::to_string(token + 1) + ", or see whether data.type (" + type_text(bytes_) +
           ") is how the file was written");
    }
  }
  sha256_ = print.hex();
}

void TokenFile::read(std::uint64_t begin, std::span<std::int64_t> out) {
  MUSTER_CHECK(begin + out.size() <= size_, begin, out.size(), size_);
  // From the end of `out` on, so that no buffer is needed: a token's place there is wider than in the file.
  const auto raw = std::as_writable_bytes(out).last(out.size() * bytes_);
  if (read_bytes(begin * bytes_, raw) != raw.size())
    throw Error(path_ + " became shorter since it was opened");
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int64_t>(token_at(raw.data() + i * bytes_, bytes_));
}

}  // namespace muster
