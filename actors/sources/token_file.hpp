// Token files: the numbers of a text's tokens, one after the other, as unsigned little-endian integers of one
// width, with nothing before, between or behind them. A text file is such a file of bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace muster {

/// One open file. Its tokens stay on the disk; reads go through the system's page cache.
class TokenFile {
 public:
  /// `bytes`: of a token: 1, 2 or 4. Reads the file once, from end to end: every token must be below
  /// `vocabulary`, and there must be at least two. Throws JobError(key) that names the file, what was found
  /// and where, and what to do.
  TokenFile(const std::string& path, std::uint32_t bytes, std::uint64_t vocabulary, const std::string& key);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  std::uint64_t size() const { return size_; }  ///< tokens; at least 2

  /// SHA-256 of the content and the width.
  const std::string& sha256() const { return sha256_; }

  /// Tokens [begin, begin + out.size()), which must be there. Throws Error where the file cannot be read, or
  /// has changed since it was opened.
  void read(std::uint64_t begin, std::span<std::int64_t> out);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  std::size_t read_bytes(std::uint64_t offset, std::span<std::byte> out) const;
  std::uint64_t open();
  void look_through(std::uint64_t vocabulary);

  std::string path_;
  std::string key_;
  std::uint32_t bytes_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string sha256_;
};

}  // namespace muster
