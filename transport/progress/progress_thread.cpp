#include "transport/progress/progress_thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"

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
  if (waiter < 0) throw Error("no file descriptor left for the progress thread");
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
      thread_([this] { work(); }) {}

ProgressThread::~ProgressThread() {
  MUSTER_CHECK(std::this_thread::get_id() != thread_.get_id(), "the progress thread cannot end itself");
  post([this] {
    driving_.assert_held();  // by whoever runs the command
    stopping_ = true;
  });
  thread_.join();
  ::close(waiter_);
}

void ProgressThread::work() {
  pthread_setname_np(pthread_self(), "muster-progress");
  const MutexLock lock(driving_);
  while (!stopping_) {
    if (drivers_ == 0 && poll()) {
      idle_polls_ = 0;
    } else {
      rest();
    }
  }
  transport_.reset();
}

bool ProgressThread::poll() {
  const bool commanded = commands_.run();
  bool moved = transport_->progress();
  if (options_.poll) moved |= options_.poll();
  now_ = std::chrono::steady_clock::now();
  if (now_ >= next_tick_) tick(now_);
  return commanded || moved;
}

// After an idle poll: whether another one is worth it. Gives way to other threads after some.
bool ProgressThread::spins() {
  if (!options_.busy || idle_polls_ >= options_.spin_polls || !options_.busy()) return false;
  if (now_ < crowded_until_) return false;
  if (++idle_polls_ > options_.polls_before_yield) give_way();
  return true;
}

void ProgressThread::give_way() {
  const Time begun = std::chrono::steady_clock::now();
  sched_yield();
  const Time now = std::chrono::steady_clock::now();
  if (now - begun > options_.yield_max) crowded_until_ = now + options_.crowded_for;
}

// Whether something is waited for that no descriptor tells of.
bool ProgressThread::polls() const {
  return options_.polled && options_.polled();
}

// Whether everything that could happen from now on makes a descriptor readable.
bool ProgressThread::sleeps() {
  return !polls() && transport_->arm() && commands_.sleep();
}

void ProgressThread::rest() {
  if (drivers_ == 0 && spins()) return;
  if (drivers_ == 0 && polls()) return give_way();
  left_busy_ = left_busy_ && options_.busy();
  if (!left_busy_ && std::chrono::steady_clock::now() < warm_until_) {
    nap();
  } else {
    sleep();
  }
}

// Those who drove a moment ago will do so again: nobody has to wake this thread for that, nor they each
// other.
void ProgressThread::nap() {
  if (drivers_ == 0 && !commands_.sleep()) return;
  driving_.unlock();
  pollfd called{commands_.event_descriptor(), POLLIN, 0};
  constexpr timespec kNap{0, 500'000};
  ::ppoll(&called, 1, &kNap, nullptr);
  driving_.lock();
  commands_.wake();
}

void ProgressThread::sleep() {
  if (drivers_ == 0 && !sleeps()) {
    sched_yield();  // shared memory says so again and again under load
    return;
  }
  const auto left = next_tick_ - std::chrono::steady_clock::now();
  const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  sleeping_ = true;  // who drives meanwhile sees to it that a descriptor is readable when something is left
  driving_.unlock();
  epoll_event event{};
  epoll_wait(waiter_, &event, 1, static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
  driving_.lock();
  sleeping_ = false;
  commands_.wake();
}

void ProgressThread::run(Command command) noexcept {
  ++drivers_;
  {
    const MutexLock lock(driving_);
    commands_.stay_awake();
    commands_.post(std::move(command));
    poll();
    leave();
    --drivers_;
  }
}

void ProgressThread::drive(Command command) noexcept {
  ++drivers_;
  {
    const MutexLock lock(driving_);
    commands_.stay_awake();
    commands_.post(std::move(command));
    Time moved = std::chrono::steady_clock::now();
    const Time end = moved + options_.drive_for;
    idle_polls_ = 0;
    for (;;) {
      const bool any = poll();
      if (any) moved = now_;
      if (!options_.busy || !options_.busy() || now_ > end || now_ > moved + options_.drive_idle_for) break;
      idle_polls_ = any ? 0 : idle_polls_ + 1;
      if (idle_polls_ <= options_.polls_before_yield) continue;
      if (now_ < crowded_until_) break;
      give_way();
    }
    leave();
    left_busy_ = options_.busy && options_.busy();
    if (left_busy_) commands_.call();
    --drivers_;
  }
}

// The progress thread takes over: at once if there is something to do; if it sleeps, when there is.
void ProgressThread::leave() {
  constexpr int kTries = 3;
  idle_polls_ = 0;
  warm_until_ = std::chrono::steady_clock::now() + options_.warm;
  for (int tries = 0; sleeping_ && tries < kTries; ++tries) {
    if (sleeps()) return;
    poll();
  }
  if (sleeping_ || !commands_.sleep()) commands_.call();
}

void ProgressThread::tick(Time now) {
  next_tick_ = now + options_.tick;
  if (options_.on_tick) options_.on_tick(now);
}

}  // namespace muster
