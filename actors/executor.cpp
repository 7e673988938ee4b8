#include "muster/actors/executor.hpp"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "muster/gpu/device.hpp"

namespace muster {

namespace {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(std::string name, int core)
      : thread_([this, name = std::move(name), core] { run(name, core); }) {}

  ~ThreadExecutor() override {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
      jobs_.clear();
    }
    wake_.notify_one();
    thread_.join();
  }

  void submit(std::function<void()> job) override {
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void run(const std::string& name, int core) {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    if (core >= 0) stay_on({core});
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_; bounded by its users' credits
  bool ended_ = false;                      // guarded by mutex_
  std::thread thread_;                      // last: starts when all else is there
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(const std::string& name, int core) {
  return std::make_unique<ThreadExecutor>(name, core);
}

}  // namespace muster
