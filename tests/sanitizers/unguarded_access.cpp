// Accesses without their mutex, planted: clang must refuse each of them, and nothing else here.
// scripts/thread-safety compiles this file with clang's -verify, which compares the errors with those that
// the comments expect.
#include "base/mutex.hpp"

namespace {

class Counter {
 public:
  void add() {
    ++count_;  // expected-error {{requires holding mutex 'mutex_'}}
  }
  int count() const {
    return count_;  // expected-error {{requires holding mutex 'mutex_'}}
  }
  int pointed_to() const {
    return *pointer_;  // expected-error {{requires holding mutex 'mutex_'}}
  }
  void add_behind_the_lock() {
    muster::MutexLock lock(mutex_);
    ++count_;
    lock.unlock();
    ++count_;  // expected-error {{requires holding mutex 'mutex_'}}
  }
  void add_in_another_function() {
    add_locked();  // expected-error {{requires holding mutex 'mutex_'}}
  }
  void wait() {
    changed_.wait(mutex_);  // expected-error {{requires holding mutex 'mutex_'}}
  }
  void lock_twice() {
    const muster::MutexLock lock(mutex_);
    lock_and_add();  // expected-error {{cannot call function 'lock_and_add' while mutex 'mutex_' is held}}
  }
  void keep_locked() {
    mutex_.lock();  // expected-note {{mutex acquired here}}
  }                 // expected-error {{mutex 'mutex_' is still held at the end of function}}

  // As it should be.
  int wait_for_some() {
    const muster::MutexLock lock(mutex_);
    while (count_ == 0) changed_.wait(mutex_);
    add_locked();
    return count_ + *pointer_;
  }
  void lock_and_add() MUSTER_EXCLUDES(mutex_) {
    const muster::MutexLock lock(mutex_);
    ++count_;
  }
  void add_in_a_callback() {
    mutex_.assert_held();
    ++count_;
  }

 private:
  void add_locked() MUSTER_REQUIRES(mutex_) { ++count_; }

  mutable muster::Mutex mutex_;
  muster::ConditionVariable changed_;
  int count_ MUSTER_GUARDED_BY(mutex_) = 0;
  int* pointer_ MUSTER_PT_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

int main() {
  Counter counter;
  counter.add();
  counter.add_behind_the_lock();
  counter.add_in_another_function();
  counter.lock_twice();
  counter.wait();
  counter.keep_locked();
  counter.add_in_a_callback();
  return counter.count() + counter.pointed_to() + counter.wait_for_some();
}
