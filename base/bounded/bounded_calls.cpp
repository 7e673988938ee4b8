#include "base/bounded/bounded_calls.hpp"

#include <utility>

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

BoundedCalls::BoundedCalls(Duration parting)
    : parting_(parting), thread_([shared = shared_] { work(*shared); }) {}

BoundedCalls::~BoundedCalls() {
  Shared& shared = *shared_;
  MutexLock lock(shared.mutex);
  shared.over = true;
  shared.changed.notify_all();
  for (const auto until = Clock::now() + parting_; !shared.ended;) {
    if (!shared.changed.wait_until(shared.mutex, until)) break;
  }
  const bool ended = shared.ended;
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

BoundedCalls::Outcome BoundedCalls::make(Call call, Duration most) {
  Shared& shared = *shared_;
  const MutexLock lock(shared.mutex);
  if (!shared.idle()) return Outcome::not_begun;
  const std::uint64_t before = shared.returned;
  shared.next = std::move(call);
  shared.since = Clock::now();
  shared.changed.notify_all();
  for (const auto until = Clock::now() + most; shared.returned == before;) {
    if (!shared.changed.wait_until(shared.mutex, until) && shared.returned == before)
      return Outcome::under_way;
  }
  return Outcome::returned;
}

void BoundedCalls::make_next(Call call) {
  Shared& shared = *shared_;
  {
    const MutexLock lock(shared.mutex);
    if (shared.idle()) shared.since = Clock::now();
    std::swap(shared.next, call);
  }
  shared.changed.notify_all();
}

bool BoundedCalls::idle() const {
  const MutexLock lock(shared_->mutex);
  return shared_->idle();
}

BoundedCalls::Duration BoundedCalls::not_returned_for() const {
  const MutexLock lock(shared_->mutex);
  if (shared_->idle()) return Duration(0);
  return std::chrono::duration_cast<Duration>(Clock::now() - shared_->since);
}

void BoundedCalls::work(Shared& shared) {
  MutexLock lock(shared.mutex);
  for (;;) {
    while (!shared.next && !shared.over) shared.changed.wait(shared.mutex);
    if (!shared.next) break;
    Call call = std::exchange(shared.next, nullptr);
    shared.under_way = true;
    lock.unlock();
    call();
    call = nullptr;  // what it owns goes without the lock
    lock.lock();
    shared.under_way = false;
    shared.since = Clock::now();  // of the next one, if there is one
    ++shared.returned;
    shared.changed.notify_all();
  }
  shared.ended = true;
  shared.changed.notify_all();
}

}  // namespace muster
