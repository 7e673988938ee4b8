// Plans as files, and the plans that have found something: each file of tests/simulation/plans says what was
// wrong ("found"), and must run to a good end.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/simulation/plan_file.hpp"
#include "tests/simulation/plan_near.hpp"
#include "tests/simulation/run_seed.hpp"
#include "tests/simulation/sources.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::simulation {
namespace {

PlanOptions all_faults() {
  PlanOptions options;
  for (const FaultKind& kind : fault_table()) options.faults.push_back(kind.name);
  return options;
}

std::vector<std::string> pinned_plans() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(MUSTER_SOURCE_DIR "/tests/simulation/plans"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(PlanFile, IsReadBackAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string text = to_json(draw_plan(seed, all_faults()), "what was wrong");
    const ReadPlan read = read_plan(text, "a.plan");
    ASSERT_EQ(to_json(read.plan, read.found), text) << "seed " << seed;
  }
}

TEST(PlanFile, TakesTheSameEventsAsItsSeed) {
  const Registry registry = simulation_registry();
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Plan plan = draw_plan(seed, all_faults());
    const Plan read = read_plan(to_json_line(plan), "a.plan").plan;
    ASSERT_EQ(run_plan(read, registry, nullptr).hash, run_plan(plan, registry, nullptr).hash)
        << "seed " << seed;
  }
}

TEST(PlanFile, SaysWhatIsWrongInIt) {
  EXPECT_THROW(read_plan("{", "a.plan"), std::runtime_error);
  EXPECT_THROW(read_plan_file("no/such.plan"), std::runtime_error);
  std::string text = to_json(draw_plan(1, {}), "");
  text.replace(text.find("\"faults\": []"), 12, R"("faults": [{"kind": "earthquake"}])");
  EXPECT_THROW(read_plan(text, "a.plan"), std::runtime_error);
}

TEST(PlansNear, AreDrawnFromTheSeedAlone) {
  const PlansNear near(MUSTER_SOURCE_DIR "/tests/simulation/plans");
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::string text = to_json(near.draw(seed), "");
    EXPECT_EQ(text, to_json(near.draw(seed), ""));
    all.insert(text);
  }
  EXPECT_EQ(all.size(), 50u);
  EXPECT_THROW(PlansNear("/nowhere"), std::runtime_error);
}

TEST(PinnedPlans, RunToAGoodEnd) {
  const Registry registry = simulation_registry();
  const std::vector<std::string> paths = pinned_plans();
  EXPECT_GE(paths.size(), 412u);
  const std::size_t each = kSanitized ? 3 : 1;  // other ones with each that is added
  for (std::size_t i = paths.size() % each; i < paths.size(); i += each) {
    const std::string& path = paths[i];
    const ReadPlan read = read_plan_file(path);
    EXPECT_FALSE(read.found.empty()) << path << " does not say what it has found";
    const RunResult result = run_plan(read.plan, registry, nullptr);
    EXPECT_FALSE(result.wrong) << path << ": " << result.wrong.what << "\n  it once found: " << read.found;
  }
}

}  // namespace
}  // namespace muster::simulation
