#include "base/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

namespace muster {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& action, const fs::path& path, int code) {
  throw DiskError(code, "cannot " + action + " " + path.string() + ": " + std::strerror(code));
}

class Descriptor {
 public:
  Descriptor(fs::path path, int flags)
      : path_(std::move(path)), number_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
    if (number_ < 0) fail("open", path_, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number_); }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write", path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  Disk::Bytes read_all() {
    struct stat status {};
    if (::fstat(number_, &status) != 0) fail("read", path_, errno);
    Disk::Bytes bytes(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::read(number_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read", path_, errno);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  void sync() {
    if (::fsync(number_) != 0) fail("sync", path_, errno);
  }

 private:
  fs::path path_;
  int number_;
};

std::uint64_t drawn_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

class RealDisk final : public Disk {
 public:
  explicit RealDisk(fs::path path) : path_(std::move(path)) {}

  std::string folder() const override { return path_.string(); }
  std::uint64_t writer() const override { return writer_; }

  std::vector<File> list() override {
    std::vector<File> files;
    std::error_code error;
    for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
      std::error_code refused;
      const bool regular = at->is_regular_file(refused);
      const auto bytes = regular && !refused ? at->file_size(refused) : 0;
      // What vanishes while it is looked at was not there. What cannot be looked at is: who reads it learns
      // why.
      if (refused == std::errc::no_such_file_or_directory) continue;
      if (regular || refused) files.push_back({at->path().filename().string(), refused ? 0 : bytes});
    }
    if (error && error != std::errc::no_such_file_or_directory) fail("list", path_, error.value());
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.name < b.name; });
    return files;
  }

  Bytes read(const std::string& name) override { return Descriptor(path_ / name, O_RDONLY).read_all(); }

  void write(const std::string& name, Pieces pieces) override {
    if (private_) {
      make_private_folder();
    } else {
      make_folder();
    }
    Descriptor file(path_ / name, O_WRONLY | O_CREAT | O_TRUNC);
    for (const auto piece : pieces) file.write(piece);
    file.sync();
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename((path_ / from).c_str(), (path_ / to).c_str()) != 0)
      fail("rename a file to", path_ / to, errno);
  }

  void remove(const std::string& name) override {
    if (::unlink((path_ / name).c_str()) != 0) fail("remove", path_ / name, errno);
  }

  void sync_folder() override { Descriptor(path_, O_RDONLY | O_DIRECTORY).sync(); }

  void keep_private() override { private_ = true; }

  std::optional<std::uint64_t> room() override {
    struct statvfs status {};
    if (::statvfs(path_.c_str(), &status) != 0) return std::nullopt;
    return std::uint64_t{status.f_bavail} * status.f_frsize;
  }

 private:
  void make_folder() {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) fail("make the folder", path_, error.value());
  }

  // Where others may write, too, one of them may have made it before, or a link to elsewhere.
  void make_private_folder() {
    if (::mkdir(path_.c_str(), S_IRWXU) == 0) return;
    if (errno != EEXIST) fail("make the folder", path_, errno);
    struct stat status {};
    if (::lstat(path_.c_str(), &status) != 0) fail("look at", path_, errno);
    if (!S_ISDIR(status.st_mode)) fail("use as a folder", path_, ENOTDIR);
    if (status.st_uid != ::geteuid()) fail("use a folder of another user,", path_, EPERM);
    if (::chmod(path_.c_str(), S_IRWXU) != 0) fail("change the permissions of", path_, errno);
  }

  fs::path path_;
  bool private_ = false;
  std::uint64_t writer_ = drawn_number();
};

}  // namespace

std::string advice_for(const DiskError& error) {
  switch (error.code()) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or set checkpoint.folder to a folder with more of it";
    case EFBIG:
      return "raise the limit on the size of a file (ulimit -f)";
    case EROFS:
    case EACCES:
    case EPERM:
      return "make the folder writable, or set checkpoint.folder to one that is";
    case ENOTDIR:
    case EEXIST:
      return "set checkpoint.folder to a folder; a file stands in its way";
    default:
      return "look at the disk, or set checkpoint.folder to a folder on another one";
  }
}

std::string temporary_name(const Disk& disk, const std::string& name) {
  return name + ".tmp." + std::to_string(disk.writer());
}

void replace_file(Disk& disk, const std::string& name, Disk::Pieces pieces) {
  const std::string temporary = temporary_name(disk, name);
  try {
    disk.write(temporary, pieces);
    disk.rename(temporary, name);
  } catch (const DiskError&) {
    try {
      disk.remove(temporary);
    } catch (const DiskError&) {
      // It was not even begun, or the disk takes nothing any more.
    }
    throw;
  }
}

std::shared_ptr<Disk> open_disk(const std::string& path) {
  return std::make_shared<RealDisk>(path);
}

}  // namespace muster
