#include "actors/sources/idx_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "muster/error.hpp"

namespace muster {
namespace {

constexpr unsigned kBufferBytes = 1u << 18;
constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kReserveBytesMax = std::uint64_t{256} << 20;
constexpr std::uint64_t kContentBytesMax = std::uint64_t{1} << 40;

struct Close {
  void operator()(gzFile file) const { gzclose_r(file); }
};

/// One open file; every mistake is a JobError that begins with its path.
class Reader {
 public:
  Reader(const std::string& path, const std::string& key) : path_(path), key_(key) {
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) fail("cannot be opened: " + std::string(errno != 0 ? std::strerror(errno) : "no memory"));
    gzbuffer(file_.get(), kBufferBytes);
  }

  [[noreturn]] void fail(const std::string& what) const { throw JobError(key_, path_ + " " + what); }

  /// Reads up to `size` bytes; fewer only at the end of a file that is whole as far as gzip can tell.
  std::uint64_t read(std::uint8_t* out, std::uint64_t size) {
    std::uint64_t got = 0;
    while (got < size) {
      const auto part = static_cast<unsigned>(std::min(size - got, kChunkBytes));
      errno = 0;
      const int bytes = gzread(file_.get(), out + got, part);
      const int cause = errno;
      check(cause);
      if (bytes <= 0) break;
      got += static_cast<std::uint64_t>(bytes);
    }
    return got;
  }

 private:
  void check(int cause) const {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_ERRNO) fail("cannot be read: " + std::string(std::strerror(cause)));
    if (code == Z_BUF_ERROR) fail("is truncated: its gzip data end too early");
    fail("is damaged: its gzip data are not valid (" + std::string(message) + ")");
  }

  std::string path_;
  std::string key_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

std::string hex(std::uint32_t magic) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", static_cast<unsigned>(magic));
  return text.data();
}

std::string shape_text(const std::vector<std::uint32_t>& extents) {
  std::string text;
  for (const auto extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

std::vector<std::uint32_t> read_header(Reader& reader, std::uint32_t dimensions) {
  std::vector<std::uint8_t> header(4 + 4 * dimensions);
  const std::uint64_t got = reader.read(header.data(), header.size());
  const std::uint32_t expected = 0x00000800u | dimensions;
  if (got >= 4 && big_endian(header.data()) != expected) {
    reader.fail("is not an IDX file of unsigned bytes with " + std::to_string(dimensions) +
                " dimension(s): it begins with " + hex(big_endian(header.data())) + ", expected " +
                hex(expected));
  }
  if (got < header.size()) {
    reader.fail("is truncated: its header has " + std::to_string(got) + " bytes, expected " +
                std::to_string(header.size()));
  }
  std::vector<std::uint32_t> extents;
  for (std::uint32_t i = 0; i < dimensions; ++i) extents.push_back(big_endian(header.data() + 4 + 4 * i));
  return extents;
}

std::uint64_t content_bytes(const Reader& reader, const std::vector<std::uint32_t>& extents) {
  std::uint64_t bytes = 1;
  for (const auto extent : extents) {
    if (extent == 0) reader.fail("holds nothing: its header says " + shape_text(extents));
    if (__builtin_mul_overflow(bytes, std::uint64_t{extent}, &bytes) || bytes > kContentBytesMax) {
      reader.fail("is damaged: its header says " + shape_text(extents) + ", more than any such file holds");
    }
  }
  return bytes;
}

}  // namespace

IdxFile read_idx_file(const std::string& path, std::uint32_t dimensions, const std::string& key) {
  Reader reader(path, key);
  IdxFile file;
  file.extents = read_header(reader, dimensions);
  const std::uint64_t expected = content_bytes(reader, file.extents);
  file.data.reserve(std::min(expected, kReserveBytesMax));
  std::uint64_t got = 0;
  while (got < expected) {
    const std::uint64_t part = std::min(expected - got, kChunkBytes);
    file.data.resize(got + part);
    const std::uint64_t read = reader.read(file.data.data() + got, part);
    got += read;
    if (read < part) {
      reader.fail("is truncated: its header says " + shape_text(file.extents) + " = " +
                  std::to_string(expected) + " bytes, found " + std::to_string(got));
    }
  }
  std::uint8_t beyond = 0;  // asking for one byte more also makes zlib check the end of the gzip data
  if (reader.read(&beyond, 1) != 0) {
    reader.fail("is damaged: its header says " + shape_text(file.extents) + " = " + std::to_string(expected) +
                " bytes, but it holds more");
  }
  return file;
}

}  // namespace muster
