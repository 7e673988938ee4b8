#include "transport/progress/command_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

int make_event_descriptor() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw Error("no file descriptor left for the progress thread");
  return descriptor;
}

}  // namespace

CommandQueue::CommandQueue() : event_descriptor_(make_event_descriptor()) {}

CommandQueue::~CommandQueue() {
  ::close(event_descriptor_);
}

void CommandQueue::post(Command command) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(command));
    any_.store(true, std::memory_order_release);
    wake = std::exchange(sleeping_, false);
  }
  if (wake) call();
}

void CommandQueue::call() {
  const std::uint64_t one = 1;
  const auto written = ::write(event_descriptor_, &one, sizeof one);
  MUSTER_CHECK(written == sizeof one, "written", written);
}

void CommandQueue::stay_awake() {
  const MutexLock lock(mutex_);
  sleeping_ = false;
}

bool CommandQueue::run() {
  if (!any_.load(std::memory_order_acquire)) return false;
  {
    const MutexLock lock(mutex_);
    running_.swap(posted_);
    any_.store(false, std::memory_order_relaxed);
  }
  for (Command& command : running_) command();
  running_.clear();
  return true;
}

bool CommandQueue::sleep() {
  const MutexLock lock(mutex_);
  sleeping_ = posted_.empty();
  return sleeping_;
}

void CommandQueue::wake() {
  {
    const MutexLock lock(mutex_);
    sleeping_ = false;
  }
  std::uint64_t count = 0;
  // Not readable: the time was over, or the network woke the thread. A write that comes later wakes it once
  // for nothing.
  [[maybe_unused]] const auto read = ::read(event_descriptor_, &count, sizeof count);
}

}  // namespace muster
