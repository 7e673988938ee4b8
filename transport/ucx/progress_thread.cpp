#include "muster/transport/ucx/progress_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "muster/config/check.hpp"
#include "muster/config/error.hpp"

namespace muster {
namespace {

void add(int waiter, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  MUSTER_CHECK(epoll_ctl(waiter, EPOLL_CTL_ADD, descriptor, &event) == 0, "descriptor", descriptor);
}

int make_waiter(int commands, int transport) {
  const int waiter = epoll_create1(EPOLL_CLOEXEC);
  if (waiter < 0) throw Error(Advice::give_up, "no file descriptor left for the progress thread");
  add(waiter, commands);
  if (transport >= 0) add(waiter, transport);
  return waiter;
}

}  // namespace

ProgressThread::ProgressThread(std::unique_ptr<Transport> transport, ProgressOptions options)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      waiter_(make_waiter(commands_.event_descriptor(), transport_->event_descriptor())),
      next_tick_(std::chrono::steady_clock::now() + options_.tick),
      thread_([this] { run(); }) {}

ProgressThread::~ProgressThread() {
  MUSTER_CHECK(std::this_thread::get_id() != thread_.get_id(), "the progress thread cannot end itself");
  post([this] { stopping_ = true; });
  thread_.join();
  ::close(waiter_);
}

void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "muster-progress");
  while (!stopping_) {
    if (poll()) {
      idle_polls_ = 0;
    } else {
      rest();
    }
  }
  transport_.reset();
}

bool ProgressThread::poll() {
  const bool commanded = commands_.run();
  const bool moved = transport_->progress();
  const Time now = std::chrono::steady_clock::now();
  if (now >= next_tick_) tick(now);
  return commanded || moved;
}

void ProgressThread::rest() {
  const bool spin = options_.busy && idle_polls_ < options_.spin_polls && options_.busy();
  if (!spin) {
    wait();
  } else if (++idle_polls_ > options_.polls_before_yield) {
    sched_yield();
  }
}

void ProgressThread::wait() {
  if (!transport_->arm()) {
    sched_yield();  // shared memory says so again and again under load
    return;
  }
  if (!commands_.sleep()) return;
  const auto left = next_tick_ - std::chrono::steady_clock::now();
  const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  epoll_event event{};
  epoll_wait(waiter_, &event, 1, static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
  commands_.wake();
}

void ProgressThread::tick(Time now) {
  next_tick_ = now + options_.tick;
  if (options_.on_tick) options_.on_tick(now);
}

}  // namespace muster
