// A race of our own, planted: two executors and an actor system's thread write to one counter. Under
// ThreadSanitizer, with the suppressions that the tests run with, it must be reported; a suppression that is
// too wide would hide it.
#include <cstdio>

#include <caf/all.hpp>

#include "muster/actors/executor.hpp"
#include "muster/actors/run.hpp"

namespace {

// Guarded by nothing: that is the race. Each of many accesses is one, so that no lucky moment hides it.
volatile int counter = 0;

void count() {
  for (int i = 0; i < 100000; ++i) counter = counter + 1;
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
    system.await_all_actors_done();
  }
  std::printf("counted %d\n", counter);
}
