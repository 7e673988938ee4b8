#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/progress/progress_thread.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace {

using namespace muster;

/// Counts what the thread does with it; has nothing to wait for.
class IdleTransport final : public Transport {
 public:
  struct Log {
    std::atomic<int> polls = 0;
    std::atomic<bool> destroyed = false;
    std::thread::id destroyed_on;
  };
  explicit IdleTransport(Log& log) : log_(log) {}
  ~IdleTransport() override {
    log_.destroyed_on = std::this_thread::get_id();
    log_.destroyed = true;
  }
  std::string address() const override { return "idle"; }
  std::string describe() const override { return "idle"; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId, const std::string&) override {}
  void disconnect(PeerId) override {}
  void send(PeerId, const Frame&, std::span<const std::byte>, SendToken) override {}
  bool progress() override {
    ++log_.polls;
    return false;
  }

 private:
  Log& log_;
};

/// Calls whoever waits only if it said that it sleeps, like shared memory.
class CallingTransport final : public Transport {
 public:
  ~CallingTransport() override { ::close(called_); }
  std::string address() const override { return "calling"; }
  std::string describe() const override { return "calling"; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId, const std::string&) override {}
  void disconnect(PeerId) override {}
  void send(PeerId, const Frame&, std::span<const std::byte>, SendToken) override {}
  int event_descriptor() const override { return called_; }
  bool arm() override {
    sleeps_ = true;
    return !arrived_;
  }
  bool progress() override {
    sleeps_ = false;
    std::uint64_t calls = 0;
    [[maybe_unused]] const auto read = ::read(called_, &calls, sizeof calls);
    if (!arrived_.exchange(false)) return false;
    expects_ = false;
    expects_.notify_all();
    return true;
  }
  void expect() { expects_ = true; }
  bool expects() const { return expects_; }

  /// On any thread: what is expected comes; returns when it was taken.
  void arrive() {
    arrived_ = true;
    const std::uint64_t one = 1;
    if (sleeps_) {
      ASSERT_EQ(::write(called_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    }
    expects_.wait(true);
  }

 private:
  const int called_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::atomic<bool> sleeps_ = false, arrived_ = false, expects_ = false;
};

/// Runs on the thread, and gives back what the callable returned.
template <class Callable>
auto ask(ProgressThread& thread, Callable callable) {
  auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Callable>()>>(std::move(callable));
  auto answer = task->get_future();
  thread.post([task] { (*task)(); });
  return answer.get();
}

TEST(CommandTest, HoldsWhatItIsGivenAndDestroysItOnce) {
  const auto counted = std::make_shared<int>(0);
  {
    Command first([counted] { ++*counted; });
    Command second(std::move(first));
    EXPECT_EQ(counted.use_count(), 2);
    second();
    Command third([moved = std::make_unique<int>(3), counted] { *counted += *moved; });
    second = std::move(third);
    EXPECT_EQ(counted.use_count(), 2);
    second();
    std::function<void()> function = [counted] { *counted += 100; };
    Command fourth(function);
    fourth();
  }
  EXPECT_EQ(*counted, 104);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(ProgressThreadTest, RunsCommandsInOrderOnItsOwnThread) {
  IdleTransport::Log log;
  std::vector<int> order;
  std::thread::id id;
  {
    ProgressThread thread(std::make_unique<IdleTransport>(log));
    id = ask(thread, [] { return std::this_thread::get_id(); });
    for (int number = 0; number < 1000; ++number) thread.post([&order, number] { order.push_back(number); });
    std::array<char, 16> name{};
    ask(thread, [&name] { return pthread_getname_np(pthread_self(), name.data(), name.size()); });
    EXPECT_STREQ(name.data(), "muster-progress");
    EXPECT_EQ(ask(thread, [&thread] { return thread.transport().address(); }), "idle");
  }
  EXPECT_NE(id, std::this_thread::get_id());
  EXPECT_TRUE(log.destroyed);
  EXPECT_EQ(log.destroyed_on, id);
  ASSERT_EQ(order.size(), 1000u);
  for (int number = 0; number < 1000; ++number) EXPECT_EQ(order[static_cast<std::size_t>(number)], number);
}

TEST(ProgressThreadTest, TakesCommandsFromManyThreads) {
  IdleTransport::Log log;
  int sum = 0;
  {
    ProgressThread thread(std::make_unique<IdleTransport>(log));
    std::vector<std::thread> others;
    for (int other = 0; other < 4; ++other) {
      others.emplace_back([&] {
        for (int count = 0; count < 2000; ++count) thread.post([&sum] { ++sum; });
      });
    }
    for (std::thread& other : others) other.join();
  }
  EXPECT_EQ(sum, 8000);
}

TEST(ProgressThreadTest, ACallerDrivesOnItsOwnThread) {
  IdleTransport::Log log;
  int left = 0;
  ProgressOptions options;
  options.busy = [&left] { return left > 0; };
  ProgressThread thread(std::make_unique<IdleTransport>(log), options);
  std::thread::id ran, drove;
  thread.run([&] { ran = std::this_thread::get_id(); });
  EXPECT_EQ(ran, std::this_thread::get_id());
  thread.drive([&] {
    drove = std::this_thread::get_id();
    left = 1;
    thread.post([&left] { left = 0; });
  });
  EXPECT_EQ(drove, std::this_thread::get_id());
  EXPECT_EQ(ask(thread, [&left] { return left; }), 0);
}

TEST(ProgressThreadTest, ManyThreadsDriveAndPost) {
  IdleTransport::Log log;
  int sum = 0;
  {
    ProgressOptions options;
    options.busy = [&sum] { return sum % 7 != 0; };
    options.warm = std::chrono::microseconds(200);
    ProgressThread thread(std::make_unique<IdleTransport>(log), options);
    std::vector<std::thread> others;
    for (int other = 0; other < 4; ++other) {
      others.emplace_back([&, other] {
        for (int count = 0; count < 1000; ++count) {
          if ((count + other) % 3 == 0) thread.post([&sum] { ++sum; });
          if ((count + other) % 3 == 1) thread.run([&sum] { ++sum; });
          if ((count + other) % 3 == 2) thread.drive([&sum] { ++sum; });
        }
      });
    }
    for (std::thread& other : others) other.join();
  }
  EXPECT_EQ(sum, 4000);
}

/// As if others computed on every core.
ProgressOptions in_a_crowd() {
  ProgressOptions options;
  options.yield_max = std::chrono::microseconds(0);
  options.crowded_for = std::chrono::hours(1);
  return options;
}

/// The calling thread, and those that it starts from now on, share a core.
void share_a_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

/// From now on whoever the calling thread wakes runs at once in its stead.
void give_way_to_all() {
  const sched_param parameters{};
  ASSERT_EQ(::sched_setscheduler(0, SCHED_IDLE, &parameters), 0);
}

/// Drives, leaves a round open, and waits for what ends it; again and again.
void drive_and_wait(CallingTransport& transport, ProgressThread& thread) {
  for (int count = 0; count < 20; ++count) {
    thread.drive([&transport] { transport.expect(); });
    transport.arrive();
  }
}

// The thread that takes over may come while the driver is still on its way out. It sees to it that it is
// called then, too: nothing that comes waits for a tick.
TEST(ProgressThreadTest, WhatComesAfterADriverHasLeftWaitsForNoTick) {
  auto made = std::make_unique<CallingTransport>();
  CallingTransport& transport = *made;
  std::atomic<int> ticks = 0;
  ProgressOptions options;
  options.busy = [&transport] { return transport.expects(); };
  options.drive_for = options.drive_idle_for = std::chrono::microseconds(0);
  options.spin_polls = 0;
  options.tick = std::chrono::seconds(2);
  options.on_tick = [&ticks](std::chrono::steady_clock::time_point) { ++ticks; };
  const auto begin = std::chrono::steady_clock::now();
  std::thread([&] {
    share_a_core();
    ProgressThread thread(std::move(made), options);
    give_way_to_all();
    drive_and_wait(transport, thread);
  }).join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options.tick * 5) << ticks << " ticks";
}

TEST(ProgressThreadTest, RestsWhenNothingIsInFlightAndTicks) {
  IdleTransport::Log log;
  std::promise<void> third_tick;
  int ticks = 0;
  ProgressOptions options;
  options.tick = std::chrono::milliseconds(20);
  options.on_tick = [&](std::chrono::steady_clock::time_point) {
    if (++ticks == 3) third_tick.set_value();
  };
  options.busy = [] { return false; };
  const auto begin = std::chrono::steady_clock::now();
  ProgressThread thread(std::make_unique<IdleTransport>(log), options);
  third_tick.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
  EXPECT_LT(log.polls, 50);
}

TEST(ProgressThreadTest, SpinsABoundedNumberOfTimesWhenBusy) {
  IdleTransport::Log log;
  std::promise<void> rests;
  ProgressOptions options;
  options.yield_max = std::chrono::hours(1);  // whatever else runs here
  options.spin_polls = 1000;
  options.tick = std::chrono::milliseconds(20);
  options.busy = [] { return true; };
  // It has spun, and from one tick to the next it polls no more than the tick itself does.
  options.on_tick = [&, before = 0, told = false](std::chrono::steady_clock::time_point) mutable {
    const int polls = log.polls;
    if (polls > 1000 && polls - before <= 2 && !std::exchange(told, true)) rests.set_value();
    before = polls;
  };
  ProgressThread thread(std::make_unique<IdleTransport>(log), options);
  EXPECT_EQ(rests.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

// One that slept would look a few times a tick; one that gives way to others each time may wait some
// milliseconds for its turn.
TEST(ProgressThreadTest, DoesNotSleepWhileItPollsForWhatNoDescriptorTellsOf) {
  constexpr int kLooks = 5000;
  constexpr auto kLong = std::chrono::seconds(120);
  IdleTransport::Log log;
  std::atomic<int> looks = 0;
  std::promise<void> rests;
  ProgressOptions options;
  options.tick = std::chrono::milliseconds(200);
  options.poll = [&] {
    ++looks;
    return false;
  };
  options.polled = [&] { return looks < kLooks; };
  options.on_tick = [&, before = 0, told = false](std::chrono::steady_clock::time_point) mutable {
    if (looks >= kLooks && looks - before <= 2 && !std::exchange(told, true)) rests.set_value();
    before = looks;
  };
  ProgressThread thread(std::make_unique<IdleTransport>(log), options);
  EXPECT_EQ(rests.get_future().wait_for(kLong), std::future_status::ready);
}

// Each way-giving counts as too long: it does not spin at all from the second idle poll on.
TEST(ProgressThreadTest, SleepsWhereOthersKeepItsCoreBusy) {
  IdleTransport::Log log;
  std::promise<void> third_tick;
  int ticks = 0;
  ProgressOptions options = in_a_crowd();
  options.spin_polls = 1'000'000;
  options.tick = std::chrono::milliseconds(20);
  options.busy = [] { return true; };
  options.on_tick = [&](std::chrono::steady_clock::time_point) {
    if (++ticks == 3) third_tick.set_value();
  };
  ProgressThread thread(std::make_unique<IdleTransport>(log), options);
  third_tick.get_future().wait();
  EXPECT_LT(log.polls, 50);
}

/// Answers each frame until enough have come.
class PingPong final : public FrameSink {
 public:
  PingPong(std::unique_ptr<Transport> transport, std::uint64_t rounds, ProgressOptions options = {})
      : rounds_(rounds), address_(transport->address()), thread_(std::move(transport), own(options)) {}

  void start(const std::string& other, bool first) {
    ask(thread_, [this, other, first] {
      thread_.transport().set_sink(this);
      thread_.transport().connect(1, other);
      if (first) send(0);
      return 0;
    });
  }
  /// The calling thread takes part, for as long as it is not over.
  void drive() {
    for (bool over = false; !over;) thread_.drive([this, &over] { over = over_; });
  }
  const std::string& address() const { return address_; }
  std::future<void> done() { return done_.get_future(); }

  std::span<std::byte> place(const Frame&) override { return received_; }
  void arrived(const Frame& frame, std::span<std::byte>) override {
    if (frame.round <= rounds_) send(frame.round + 1);
    if (frame.round >= rounds_ && !std::exchange(over_, true)) done_.set_value();
  }
  void dropped(const Frame&) override {}
  void sent(PeerId, SendToken, bool) override {}
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string&) override {}

 private:
  ProgressOptions own(ProgressOptions options) {
    options.busy = [this] { return !over_; };
    return options;
  }
  void send(std::uint64_t round) {
    thread_.transport().send(1, muster::testing::frame_of(0, round, sent_.size()), sent_, round);
  }

  const std::uint64_t rounds_;
  const std::string address_;
  bool over_ = false;
  std::vector<std::byte> sent_ = std::vector<std::byte>(100000);
  std::vector<std::byte> received_ = std::vector<std::byte>(100000);
  std::promise<void> done_;
  ProgressThread thread_;  // last: it uses all of the above
};

TEST(ProgressThreadTest, CarriesMessagesBetweenTwoThreads) {
  for (const char* kind : {"ucx", "ucx_tcp", "tcp"}) {
    const auto make = muster::testing::real_transport(kind);
    PingPong a(make(), 500);
    PingPong b(make(), 500);
    auto a_done = a.done();
    auto b_done = b.done();
    b.start(a.address(), false);
    a.start(b.address(), true);
    EXPECT_EQ(a_done.wait_for(std::chrono::seconds(20)), std::future_status::ready) << kind;
    EXPECT_EQ(b_done.wait_for(std::chrono::seconds(20)), std::future_status::ready) << kind;
  }
}

// Who drives, and who takes over when it leaves, changes all the time; nothing gets lost, and nobody waits
// for a tick.
TEST(ProgressThreadTest, ACallerAndTheThreadTakeTurns) {
  for (const bool near : {true, false}) {
    for (const ProgressOptions& options : {ProgressOptions{}, in_a_crowd()}) {
      const auto make = [near] { return near ? make_shared_memory_transport() : make_ucx_transport({}); };
      PingPong a(make(), 2000, options);
      PingPong b(make(), 2000, options);
      auto a_done = a.done();
      auto b_done = b.done();
      b.start(a.address(), false);
      a.start(b.address(), true);
      a.drive();
      EXPECT_EQ(a_done.wait_for(std::chrono::seconds(20)), std::future_status::ready) << near;
      EXPECT_EQ(b_done.wait_for(std::chrono::seconds(20)), std::future_status::ready) << near;
    }
  }
}

}  // namespace
