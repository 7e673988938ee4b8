// A race of our own, planted: two executors and an actor system's thread write to one counter. Under
// ThreadSanitizer, with the suppressions that the tests run with, it must be reported; a suppression that is
// too wide would hide it.
#include <atomic>
#include <cstdio>
#include <thread>

#include <caf/all.hpp>

#include "actors/data_plane/executor.hpp"
#include "muster/run.hpp"

namespace {

constexpr int kThreads = 3;

// Guarded by nothing: that is the race. Each of many accesses is one, so that no lucky moment hides it.
volatile int counter = 0;

// Relaxed, so that waiting for them orders no access to the counter.
std::atomic<int> begun = 0;
std::atomic<int> ended = 0;

void wait_for_all(const std::atomic<int>& threads) {
  while (threads.load(std::memory_order_relaxed) < kThreads) std::this_thread::yield();
}

void count() {
  begun.fetch_add(1, std::memory_order_relaxed);
  wait_for_all(begun);
  for (int i = 0; i < 1000; ++i) counter = counter + 1;
  ended.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

int main() {
  caf::actor_system_config config;
  muster::configure(config);
  caf::actor_system system(config);
  {
    auto first = muster::make_thread_executor("first", -1);
    auto second = muster::make_thread_executor("second", -1);
    first->submit(count);
    second->submit(count);
    system.spawn([](caf::event_based_actor*) { count(); });
    // An executor that ends drops what it has not begun: on a busy machine, one thread alone would count.
    wait_for_all(ended);
    system.await_all_actors_done();
  }
  std::printf("counted %d\n", counter);
}
