#include "actors/data_plane/executor.hpp"

#include <pthread.h>

#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "base/mutex.hpp"
#include "gpu/device.hpp"

namespace muster {

namespace {

// How long the end of an executor waits for a job that runs.
constexpr auto kParting = std::chrono::seconds(2);

// What the thread and its owner share. The thread may outlive the owner.
struct Jobs {
  Mutex mutex;
  ConditionVariable more;  // jobs wait, or the end does; for the thread
  ConditionVariable left;  // the thread is gone; for its owner
  std::deque<std::function<void()>> waiting MUSTER_GUARDED_BY(mutex);  // bounded by its users' credits
  bool ended MUSTER_GUARDED_BY(mutex) = false;                         // no further job is begun
  bool gone MUSTER_GUARDED_BY(mutex) = false;                          // the thread has nothing left to do
};

void run(const std::shared_ptr<Jobs>& jobs, const std::string& name, int core) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (core >= 0) stay_on({core});
  for (;;) {
    std::function<void()> job;
    {
      const MutexLock lock(jobs->mutex);
      while (!jobs->ended && jobs->waiting.empty()) jobs->more.wait(jobs->mutex);
      jobs->gone = jobs->waiting.empty();
      if (jobs->gone) break;
      job = std::move(jobs->waiting.front());
      jobs->waiting.pop_front();
    }
    job();
  }
  jobs->left.notify_one();
}

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(const std::string& name, int core)
      : thread_([jobs = jobs_, name, core] { run(jobs, name, core); }) {}

  // A read or a driver call that never comes back must not keep the node from ending.
  ~ThreadExecutor() override {
    std::deque<std::function<void()>> waiting;  // its jobs are destroyed without the lock
    MutexLock lock(jobs_->mutex);
    jobs_->ended = true;
    waiting.swap(jobs_->waiting);
    jobs_->more.notify_one();
    const auto deadline = std::chrono::steady_clock::now() + kParting;
    while (!jobs_->gone && jobs_->left.wait_until(jobs_->mutex, deadline)) {
    }
    const bool gone = jobs_->gone;
    lock.unlock();
    gone ? thread_.join() : thread_.detach();
  }

  void submit(std::function<void()> job) override {
    const auto jobs = jobs_;  // the job may end this executor at once
    {
      const MutexLock lock(jobs->mutex);
      if (jobs->ended) return;
      jobs->waiting.push_back(std::move(job));
    }
    jobs->more.notify_one();  // without the lock, for which its thread would wait
  }

 private:
  const std::shared_ptr<Jobs> jobs_ = std::make_shared<Jobs>();
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(const std::string& name, int core) {
  return std::make_unique<ThreadExecutor>(name, core);
}

}  // namespace muster
