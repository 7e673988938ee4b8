// How long a newcomer waits for the state, in virtual time: of a small one no longer than a few steps.
#include <gtest/gtest.h>

#include "tests/simulation/narrator.hpp"
#include "tests/support/linear_job.hpp"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep{50};      // at most
constexpr milliseconds kSoon{300};     // from being ready to being a member
constexpr double kBytesASecond = 5e5;  // a piece of 128 bytes takes as long as one of 256 KiB does at 1 GB/s

// Its state and the momentum are 27 pieces: as many as those of 3.4 MB of weights.
Job job_of_small_state() {
  Job job = testing::linear_job({.samples = 400, .inputs = 20, .outputs = 20});
  job.name = "joins";
  job.train.shards = 4;
  job.train.batch = 5;
  job.train.epochs = 3;
  job.train.optimizer.momentum = 0.9;
  job.cluster.replicas = 2;
  job.cluster.join_share = 0.02;  // what was not used of it before must do
  job.cluster.on_loss = OnLoss::go_on;
  return job;
}

struct WhenItJoined final : Watch {
  explicit WhenItJoined(std::function<Nanoseconds()> clock) : now(std::move(clock)) {}

  void sent(ProcessId, ProcessId, const caf::message& message) override {
    if (!message.match_elements<Prepared>()) return;
    if (message.get_as<Prepared>(0).name == NodeName{false, 2}) ready = now();
  }
  void event(const Event& event) override {
    if (event.name == "state_transferred") state_transferred = event;
    if (event.name == "joined" && event.integer("replica") == 2) member = now();
  }

  std::function<Nanoseconds()> now;
  std::optional<Nanoseconds> ready, member;
  std::optional<Event> state_transferred;
};

TEST(JoinTime, ANewcomerWithASmallStateIsSoonAMemberAndCostsAStepAtMost) {
  const Registry registry = builtin_registry();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ClusterOptions options;
    options.seed = seed;
    options.pace.compute_max = kStep;
    options.network.bandwidth = kBytesASecond;
    Cluster* made = nullptr;
    WhenItJoined watch([&] { return made->world().now(); });
    Cluster cluster(job_of_small_state(), registry, options, &watch);
    made = &cluster;
    cluster.start();
    cluster.world().after(milliseconds(1000), [&] { cluster.join(false); });
    while (!cluster.report() && cluster.step()) {
    }
    ASSERT_TRUE(cluster.report());
    EXPECT_EQ(cluster.report()->outcome, "completed") << cluster.report()->reason;
    ASSERT_TRUE(watch.ready && watch.member && watch.state_transferred);
    EXPECT_LE(*watch.member - *watch.ready, kSoon);
    const double busy = watch.state_transferred->number("seconds") * watch.state_transferred->number("share");
    EXPECT_LE(busy, std::chrono::duration<double>(kStep).count());
  }
}

}  // namespace
}  // namespace muster::simulation
