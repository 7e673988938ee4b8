// Replicas whose gradients are other ones, although nothing at their admission could show it: with loader
// processes they read no data, and have no probe gradient.
#include <gtest/gtest.h>

#include <memory>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/processors.hpp"
#include "tests/cluster/same_bits.hpp"

#ifdef MUSTER_WITH_TORCH
namespace muster::audit_test {
namespace {

using namespace muster::cluster_test;

// A run with one loader process, whose replicas come by hand.
struct RunByHand {
  explicit RunByHand(const std::vector<Environment>& replicas, const Arguments& more = {}) {
    const std::string where = free_address();
    Arguments arguments{"coordinate", folder.write("job.toml", fashion_job("mlp")),
                        "--listen",   where,
                        "--report",   folder.path("report.json"),
                        "--replicas", std::to_string(replicas.size()),
                        "--set",      "cluster.loaders=1",
                        "--set",      "train.steps=12"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    MusterProcess coordinator(arguments);
    MusterProcess loader({"join", "--loader", "--coordinator", where});
    std::vector<std::unique_ptr<MusterProcess>> joined;
    for (const Environment& environment : replicas)
      joined.push_back(
          std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", where}, environment));
    outcome = coordinator.wait();
    report = read_json(folder.path("report.json"));
  }

  Json corrupt() const {
    for (const Json& event : report["events"]) {
      if (event["event"] == "corrupt") return event;
    }
    return {};
  }

  Folder folder;
  Outcome outcome;
  Json report;
};

TEST(Audit, OfTwoReplicasWithOtherGradientsTheRunStopsBeforeItsFirstStep) {
  const RunByHand run({kOld, kNewer});
  EXPECT_EQ(run.outcome.code, 1);
  ASSERT_TRUE(run.report.is_object()) << run.outcome.err;
  EXPECT_EQ(run.report["outcome"], "failed");
  EXPECT_EQ(run.report["steps"], 0);
  const std::string reason = run.report["reason"].get<std::string>();
  for (const char* word : {"diverged", "the gradients of step 1 differ", "OPENBLAS_CORETYPE=Haswell"})
    EXPECT_NE(reason.find(word), std::string::npos) << word << " is missing in: " << reason;
  EXPECT_EQ(run.corrupt()["what"], "gradients") << run.report;
}

TEST(Audit, OfThreeTheOddOneIsEvictedAndTheOthersHaveTheirOwnBits) {
  const RunByHand good({kNewer, kNewer});
  ASSERT_EQ(good.outcome.code, 0) << good.outcome.err;
  const RunByHand run({kNewer, kOld, kNewer});
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  ASSERT_TRUE(run.report.is_object()) << run.outcome.err;
  EXPECT_EQ(run.corrupt()["action"], "evicted") << run.report;
  EXPECT_TRUE(run.corrupt().contains("replica"));
  EXPECT_EQ(run.report["weights_sha256"], good.report["weights_sha256"]);
}

TEST(Audit, WithoutAuditsNobodySeesIt) {
  const RunByHand run({kOld, kNewer}, {"--set", "train.audit=off"});
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_TRUE(run.corrupt().is_null());
}

}  // namespace
}  // namespace muster::audit_test
#endif
