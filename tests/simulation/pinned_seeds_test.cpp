// Seeds of muster-sim that have found something, and what it was. A seed means another run once the drawing
// of plans changes; then it is one seed among many, and no harm is done.
#include <gtest/gtest.h>

#include "tests/simulation/run_seed.hpp"

namespace muster::simulation {
namespace {

void expect_good(const std::vector<std::uint64_t>& seeds) {
  const Registry registry = builtin_registry();
  PlanOptions options;
  for (const FaultKind& kind : fault_table()) options.faults.push_back(kind.name);
  for (const std::uint64_t seed : seeds) {
    const RunResult result = run_seed(seed, options, registry, nullptr);
    EXPECT_FALSE(result.wrong) << "seed " << seed << ": " << result.wrong.what;
  }
}

// The coordinator died between its note of a view and its word: the newcomers in it ended themselves, and
// were waited for.
TEST(PinnedSeeds, ANewcomerThatAViewMayHoldWaitsForTheNextCoordinator) {
  expect_good({1170, 1816, 3661, 5338, 5393, 5838, 6802, 8043, 8477});
  expect_good({10405, 15679});  // a loader
}

// The coordinator died after it had been told, and nobody told the next one: members waited for ever.
TEST(PinnedSeeds, WhoAskedToLeaveAsksTheNextCoordinator) {
  expect_good({2014, 2883, 6082});
}
// All had closed their view when the coordinator died; the next one found them all, and took the view to be
// in force.
TEST(PinnedSeeds, AViewThatWasClosedIsNotInForceAgain) {
  expect_good({11078});
}

// So did those who waited for somebody behind a broken link.
TEST(PinnedSeeds, ABrokenLinkIsToldToTheNextCoordinator) {
  expect_good({6824, 7689, 8249});
}

// The coordinator died behind its note that the run has ended, and had not told its end.
TEST(PinnedSeeds, TheJournalSaysThatARunHasEndedWhenItsEndIsTold) {
  expect_good({1846, 3852, 9183});
}

// The first nodes came while the journal's disk was full; they were turned away, and their places were lost.
TEST(PinnedSeeds, WhoComesForAnExpectedPlaceNeedsNoJournal) {
  expect_good({13528});
}

// A member told the next coordinator of an epoch that had just ended before all told it of the earlier ones.
TEST(PinnedSeeds, TheReportHasItsEpochsInTheirOrder) {
  expect_good({4775, 19308});
}

// A part of the next step's result lay where the last one's gradient was, which a newcomer was handed out.
TEST(PinnedSeeds, ARecordIsHandedOutAsItWasTaken) {
  expect_good({15594});
}

// All members were lost or asked to leave while a newcomer closed their view with them: it was taken for one
// of them, and gave its state to another newcomer.
TEST(PinnedSeeds, OnlyAMemberGivesItsState) {
  expect_good({16553});
}

// Who wanted to leave with the only copy of a part was held back, but the record that it alone had left did
// not count: a step would have been done twice.
TEST(PinnedSeeds, WhoIsHeldBackCountsAsAnyOther) {
  expect_good({5467, 5815});
}

}  // namespace
}  // namespace muster::simulation
