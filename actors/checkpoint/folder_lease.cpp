#include "actors/checkpoint/folder_lease.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/this_machine.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kHolderBytesMax = 512;
constexpr const char* kOtherFolder = " give this job another checkpoint.folder";

std::string content_of(int file) {
  std::array<char, kHolderBytesMax> bytes{};
  const auto count = ::pread(file, bytes.data(), bytes.size(), 0);
  return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

// What changes with each beat.
struct Sight {
  std::string holder;
  std::int64_t touched_ns = 0;
  bool operator==(const Sight&) const = default;
};

// By the path, and anew: what an open file of NFS shows may be old.
std::optional<Sight> look(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status {};
  Sight sight{content_of(file), 0};
  if (::fstat(file, &status) == 0)
    sight.touched_ns = status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
  ::close(file);
  return sight;
}

[[noreturn]] void held(const std::string& holder, const std::filesystem::path& path) {
  throw FolderHeld("another coordinator of this job is at work: " +
                   (holder.empty() ? std::string("one that has just begun") : holder) + " (it holds " +
                   path.string() + "); end it, or" + kOtherFolder);
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  if (std::filesystem::exists(folder, error))
    throw Error(folder.string() + " is a file, and is to be a folder; move it away, or" + kOtherFolder);
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error("the folder " + folder.string() + " cannot be made: " + error.message() +
                "; make it, writable for this user, or" + kOtherFolder);
}

}  // namespace

std::string lease_holder(long pid, const std::string& host, const std::string& boot) {
  return "process " + std::to_string(pid) + " on host " + host + " (boot " + boot + ")";
}

FolderLease::FolderLease(std::filesystem::path path) : path_(std::move(path)) {
  make_folder(path_.parent_path());
  file_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  const int refusal = errno;
  if (file_ < 0 && refusal == EACCES) file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);  // another user's
  if (file_ < 0)
    throw Error("the lock " + path_.string() + " cannot be opened: " + std::strerror(refusal) +
                "; make it writable for this user, or" + kOtherFolder);
  try {
    const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) held(content_of(file_), path_);
    refuse_living_holder(locked);
  } catch (...) {
    ::close(file_);
    throw;
  }
  const std::string own = lease_holder(::getpid(), host_name(), boot_id());
  // A full disk does not keep a run from its journal: it is told of there.
  if (::ftruncate(file_, 0) == 0) {
    [[maybe_unused]] const auto written = ::pwrite(file_, own.data(), own.size(), 0);
    ::fsync(file_);
  }
  beating_ = std::thread([this] { beat(); });
}

FolderLease::~FolderLease() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  beating_.join();
  ::close(file_);
}

// Of this boot of this host the lock has decided, if the file system has locks.
void FolderLease::refuse_living_holder(bool locked) {
  const auto before = look(path_);
  if (!before || before->holder.empty()) return;
  if (locked && before->holder.ends_with("(boot " + boot_id() + ")")) return;
  const MutexLock lock(mutex_);
  for (const auto until = Clock::now() + kWatch; Clock::now() < until;) {
    over_changed_.wait_until(mutex_, Clock::now() + kBeat / 10);
    if (const auto now = look(path_); now && *now != *before) held(now->holder, path_);
  }
}

void FolderLease::beat() {
  MutexLock lock(mutex_);
  for (;;) {
    const auto next = Clock::now() + kBeat;
    while (!over_ && over_changed_.wait_until(mutex_, next)) {
    }
    if (over_) return;
    lock.unlock();  // the disk may be slow
    ::futimens(file_, nullptr);
    lock.lock();
  }
}

}  // namespace muster
