#include "actors/checkpoint/folder_lease.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
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

struct FolderLease::Held {
  explicit Held(std::filesystem::path file_path) : path(std::move(file_path)) {}
  ~Held() {
    if (file >= 0) ::close(file);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void open();
  void refuse_living_holder(bool locked) MUSTER_EXCLUDES(mutex);
  void beat() MUSTER_EXCLUDES(mutex);

  const std::filesystem::path path;
  int file = -1;
  Mutex mutex;
  ConditionVariable changed;
  bool over MUSTER_GUARDED_BY(mutex) = false;
  bool ended MUSTER_GUARDED_BY(mutex) = false;
};

FolderLease::FolderLease(std::filesystem::path path) : held_(std::make_shared<Held>(std::move(path))) {
  make_folder(held_->path.parent_path());
  held_->open();
  const bool locked = ::flock(held_->file, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno == EWOULDBLOCK) held(content_of(held_->file), held_->path);
  held_->refuse_living_holder(locked);
  const std::string own = lease_holder(::getpid(), host_name(), boot_id());
  // A full disk does not keep a run from its journal: it is told of there.
  if (::ftruncate(held_->file, 0) == 0) {
    [[maybe_unused]] const auto written = ::pwrite(held_->file, own.data(), own.size(), 0);
    ::fsync(held_->file);
  }
  beating_ = std::thread([held = held_] { held->beat(); });
}

FolderLease::~FolderLease() {
  bool ended = false;
  {
    Held& held = *held_;
    const MutexLock lock(held.mutex);
    held.over = true;
    held.changed.notify_all();
    for (const auto until = Clock::now() + kBeat; !held.ended;) {
      if (!held.changed.wait_until(held.mutex, until)) break;
    }
    ended = held.ended;
  }
  ended ? beating_.join() : beating_.detach();
}

void FolderLease::Held::open() {
  file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  const int refusal = errno;
  if (file < 0 && refusal == EACCES) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // another user's
  if (file < 0)
    throw Error("the lock " + path.string() + " cannot be opened: " + std::strerror(refusal) +
                "; make it writable for this user, or" + kOtherFolder);
}

// Of this boot of this host the lock has decided, if the file system has locks.
void FolderLease::Held::refuse_living_holder(bool locked) {
  const auto before = look(path);
  if (!before || before->holder.empty()) return;
  if (locked && before->holder.ends_with("(boot " + boot_id() + ")")) return;
  const MutexLock lock(mutex);
  for (const auto until = Clock::now() + kWatch; Clock::now() < until;) {
    changed.wait_until(mutex, Clock::now() + kBeat / 10);
    if (const auto now = look(path); now && *now != *before) held(now->holder, path);
  }
}

void FolderLease::Held::beat() {
  MutexLock lock(mutex);
  while (!over) {
    const auto next = Clock::now() + kBeat;
    while (!over && changed.wait_until(mutex, next)) {
    }
    if (over) break;
    lock.unlock();  // the disk may be slow
    ::futimens(file, nullptr);
    lock.lock();
  }
  ended = true;
  changed.notify_all();
}

}  // namespace muster
