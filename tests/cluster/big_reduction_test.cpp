// A replica that ends or stops in the middle of a reduction of 256 MiB, with each algorithm: nobody waits
// longer than stated, and the run ends with the weights of an undisturbed one.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::big_reduction_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

// Under a sanitizer 4 MiB, for everything is ten times as slow, and so many more steps that one is still
// under way when a process is stopped.
constexpr const char* kElements = muster::kSanitized ? "1048576" : "67108864";
constexpr const char* kSteps = muster::kSanitized ? "100" : "5";
// A connection has ended, and the others agree on a view.
constexpr auto kAtOnce = muster::kSanitized ? 20s : 3s;
// Three replicas that touch gigabytes for the first time may hold a small machine up for a second.
constexpr auto kPatience = 3s;

// Without a computation to speak of: what is waited for is the reduction.
std::string job(const std::string& algorithm) {
  return R"(name = "big"
[model]
name = "empty"
parameters = )" +
         std::string(kElements) + R"(
[data]
source = "synthetic"
samples = 640
[train]
shards = 4
batch = 1
steps = )" +
         std::string(kSteps) + R"(
evaluate = false
[cluster]
replicas = 3
detect = { patience = "3s" }
straggler = { patience = "300ms" }
[reduce]
algorithm = ")" +
         algorithm + "\"\n";
}

std::string undisturbed_sha() {
  static const std::string sha = [] {
    const Folder folder;
    const RunResult run = run_job(folder.write("job.toml", job("direct")), folder, {"--replicas", "1"});
    EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
    return run.report["weights_sha256"].get<std::string>();
  }();
  return sha;
}

struct Case {
  std::string algorithm;
  bool killed;
  bool over_tcp = false;
};

class BigReduction : public ::testing::TestWithParam<Case> {};

TEST_P(BigReduction, WhoEndsInItsMiddleHoldsNobodyUp) {
  const auto [algorithm, killed, over_tcp] = GetParam();
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", job(algorithm)), "--events", "-", "--report",
                         folder.path("report.json")},
                        over_tcp ? Environment{{"UCX_TLS", "tcp"}} : Environment{});
  pid_t victim = 0;
  for (int slot = 0; slot < 3; ++slot) {
    const Json joined = process.event("joined");
    ASSERT_TRUE(joined.is_object());
    if (joined["replica"] == 1) victim = joined["pid"].get<pid_t>();
  }
  ASSERT_TRUE(process.event("view").is_object());
  // It stops, and the others say that they wait for it: they are in the middle.
  ASSERT_EQ(::kill(victim, SIGSTOP), 0);
  auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(process.event("late", [](const Json& event) { return event["replica"] == 1; }).is_object());
  if (killed) {
    begun = std::chrono::steady_clock::now();
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
  }
  const Json lost = process.event("lost");
  ASSERT_TRUE(lost.is_object());
  EXPECT_FALSE(lost["reason"].get<std::string>().empty()) << lost.dump();
  ASSERT_TRUE(process.event("view").is_object());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, (killed ? 0s : kPatience) + kAtOnce);
  // It wakes in the middle of a sum that counts no more, and goes on with memory that it may no longer
  // borrow.
  if (!killed) {
    EXPECT_EQ(::kill(victim, SIGCONT), 0);
  }
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(process.none_left_within(5s));
  const Json report = read_json(folder.path("report.json"));
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["weights_sha256"], undisturbed_sha());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* algorithm : {"direct", "halving_doubling", "hierarchical", "one_shot"}) {
    for (const bool killed : {true, false}) all.push_back({algorithm, killed});
  }
  for (const bool killed : {true, false}) all.push_back({"direct", killed, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(, BigReduction, ::testing::ValuesIn(cases()), [](const auto& one) {
  return one.param.algorithm + (one.param.over_tcp ? "_tcp" : "") +
         (one.param.killed ? "_killed" : "_stopped");
});

}  // namespace
}  // namespace muster::big_reduction_test
