#include "gpu/files/file_io.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "muster/error.hpp"

namespace muster {
namespace {

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path) {
  throw Error("cannot " + action + " " + path.string() + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (number_ < 0) fail("open", path_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Fills `bytes` as far as the file goes; returns the number of bytes read.
  std::size_t read(std::span<std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::read(number_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read", path_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  std::size_t size() const {
    struct stat status {};
    if (::fstat(number_, &status) != 0) fail("read", path_);
    return static_cast<std::size_t>(status.st_size);
  }

  void sync() {
    if (::fsync(number_) != 0) fail("sync", path_);
  }

  void close() {
    const int number = std::exchange(number_, -1);
    if (::close(number) != 0) fail("close", path_);
  }

 private:
  std::filesystem::path path_;
  int number_;
};

/// Removes the temporary file unless it has got its final name.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::filesystem::path& path() const { return path_; }

  void rename(const std::filesystem::path& name) {
    if (::rename(path_.c_str(), name.c_str()) != 0) fail("rename a file to", name);
    path_.clear();
  }

 private:
  std::filesystem::path path_;
};

// The pid is no name: a process of another host or container may have the same one.
std::string temporary_name(const std::filesystem::path& path) {
  std::random_device random;
  return path.string() + ".tmp." + std::to_string(std::uint64_t{random()} << 32 | random());
}

}  // namespace

void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  Temporary temporary(temporary_name(path));
  Descriptor file(temporary.path(), O_WRONLY | O_CREAT | O_EXCL);
  for (const auto piece : pieces) file.write(piece);
  file.sync();
  file.close();
  temporary.rename(path);
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  Descriptor(folder, O_RDONLY | O_DIRECTORY).sync();
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  Descriptor file(path, O_RDONLY);
  std::vector<std::byte> bytes(file.size());
  bytes.resize(file.read(bytes));
  return bytes;
}

}  // namespace muster
