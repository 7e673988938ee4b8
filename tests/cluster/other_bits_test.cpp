// Two replicas whose libraries compute with other instructions: found before they train, and said with the
// way out.
#include <gtest/gtest.h>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/processors.hpp"
#include "tests/cluster/same_bits.hpp"

#ifdef MUSTER_WITH_TORCH
namespace {

using namespace muster::cluster_test;

struct TwoByHand {
  TwoByHand(const Environment& one, const Environment& other, const Arguments& more = {}) {
    const std::string where = free_address();
    Arguments arguments{"coordinate", folder.write("job.toml", fashion_job("mlp")),
                        "--listen",   where,
                        "--report",   folder.path("report.json"),
                        "--replicas", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    MusterProcess coordinator(arguments);
    MusterProcess first({"join", "--coordinator", where}, one),
        second({"join", "--coordinator", where}, other);
    outcome = coordinator.wait();
    joined = {first.wait(), second.wait()};
    report = read_json(folder.path("report.json"));
  }

  Folder folder;
  Outcome outcome;
  std::vector<Outcome> joined;
  Json report;
};

TEST(OtherBits, OfOtherInstructionsAreRefusedBeforeTrainingWithTheWayOut) {
  const TwoByHand run(kOld, kNewer);
  EXPECT_EQ(run.outcome.code, 1);
  for (const Outcome& outcome : run.joined) EXPECT_EQ(outcome.code, 1);
  ASSERT_TRUE(run.report.is_object()) << run.outcome.err;
  EXPECT_EQ(run.report["steps"], 0);
  const std::string reason = run.report["reason"].get<std::string>();
  for (const char* word : {"computes other bits than", "for the probe gradient", "libtorch ", " with ",
                           "OPENBLAS_CORETYPE=Haswell"})
    EXPECT_NE(reason.find(word), std::string::npos) << word << " is missing in: " << reason;
  EXPECT_NE(run.outcome.err.find(reason), std::string::npos) << run.outcome.err;
}

TEST(OtherBits, TrainTogetherWhereTheJobIsLooseAndItIsNoticed) {
  const TwoByHand run(kOld, kNewer, {"--set", "cluster.reproducible=loose"});
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_NE(run.outcome.err.find("computes other bits than"), std::string::npos) << run.outcome.err;
}

TEST(OtherBits, AreNoneWhereBothAreToldToChooseAlike) {
  const TwoByHand run(kNewer, kNewer);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
}

}  // namespace
#endif
