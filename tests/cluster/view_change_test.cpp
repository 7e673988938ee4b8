// With cluster.on_loss = "continue" a run survives the loss of replicas: real processes, killed or stopped in
// the middle. It ends with the weights of an undisturbed run, and an exact ledger.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/blows.hpp"

namespace muster::view_change_test {
namespace {

using namespace muster::cluster_test;

std::string long_job() {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
}

Trained run_with(const std::vector<Blow>& blows, const Environment& environment = {}) {
  return muster::cluster_test::run_with(long_job(), {}, blows, environment);
}

void expect_the_same(const Trained& run, const Trained& undisturbed, int lost) {
  expect_same_outcome(run, undisturbed);
  EXPECT_EQ(run.count("lost"), lost);
  for (const Json& row : run.report["ledger"]) {
    ASSERT_TRUE(row["complete"].get<bool>());
    ASSERT_EQ(row["repeated"].get<int>() + row["missed"].get<int>(), 0);
  }
}

const Trained& undisturbed() {
  static const Trained run = run_with({});
  return run;
}

TEST(ViewChange, OneKilled) {
  const Trained run = run_with({{5, {1}, SIGKILL}});
  expect_the_same(run, undisturbed(), 1);
  EXPECT_EQ(run.count("view"), 2);
}

TEST(ViewChange, TheFirstKilledOverTcp) {
  const Trained run = run_with({{5, {0}, SIGKILL}}, {{"UCX_TLS", "tcp"}});
  expect_the_same(run, undisturbed(), 1);
}

TEST(ViewChange, OneKilledOverUcx) {
  const Trained run = run_with({{5, {1}, SIGKILL}}, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}});
  expect_the_same(run, undisturbed(), 1);
}

TEST(ViewChange, AllButOneKilledOneAfterTheOther) {
  const Trained run = run_with({{4, {0}, SIGKILL}, {10, {3}, SIGKILL}, {16, {1}, SIGKILL}});
  expect_the_same(run, undisturbed(), 3);
}

TEST(ViewChange, TwoKilledAtOnce) {
  const Trained run = run_with({{5, {1, 2}, SIGKILL}});
  expect_the_same(run, undisturbed(), 2);
}

// When a majority falls silent the coordinator doubts its own link, and waits for six patiences. But these
// are known to be gone: their processes have ended.
TEST(ViewChange, AMajorityThatIsKilledIsNotWaitedFor) {
  const Trained run = run_with({{5, {0, 2, 3}, SIGKILL}});
  expect_the_same(run, undisturbed(), 3);
  const std::vector<Json> lost = run.told("lost"), recovered = run.told("recovered");
  ASSERT_FALSE(lost.empty());
  ASSERT_FALSE(recovered.empty());
  EXPECT_LT(recovered.back()["time_ms"].get<double>() - lost.front()["time_ms"].get<double>(), kPatienceMs);
  EXPECT_FALSE(run.count("paused"));
}

TEST(ViewChange, OneStoppedForLongerThanThePatienceIsEvicted) {
  const Trained run = run_with({{5, {2}, SIGSTOP}});
  expect_the_same(run, undisturbed(), 1);
}

}  // namespace
}  // namespace muster::view_change_test
