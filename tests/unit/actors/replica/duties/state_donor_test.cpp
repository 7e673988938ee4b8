#include "actors/replica/duties/state_donor.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::state_donor_test {
namespace {

using testing::DutyContext;
using testing::last_as;

constexpr PeerId kNewcomer = 8;

struct Donating : DutyContext {
  LastRecord last;
  PartDeal deal;
  StateReplacement replacement;
  StateDonor donor{context, last, deal, replacement};

  // An evaluation: it has no mean.
  void take_record() {
    auto record = std::make_shared<RoundRecord>();
    record->kind = RoundKind::evaluate;
    take_records(position->records() + 1);
    last.take(record, MeanIs::in_gradient);
    donor.record_taken(MeanIs::in_gradient);
  }
};

TEST(StateDonor, ANewcomerIsGivenTheStateAndThenTheRecords) {
  Donating replica;
  replica.take_records(3);
  replica.donor.on(DonateTo{5, kNewcomer});
  EXPECT_EQ(replica.jobs->size(), 1u) << "the state is copied";
  EXPECT_TRUE(replica.donor.feeds_somebody());
  replica.donor.on(StateCopied{5, kNewcomer, 2, nullptr});
  EXPECT_TRUE(replica.sent.reducer.empty()) << "of another transfer";
  replica.donor.on(StateCopied{5, kNewcomer, 3, nullptr});
  const auto* state = last_as<TransferOut>(replica.sent.reducer);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->kind, FrameKind::state);
  EXPECT_EQ(state->to, kNewcomer);
  replica.take_record();
  const auto* record = last_as<TransferOut>(replica.sent.reducer);
  EXPECT_EQ(record->kind, FrameKind::record);
  EXPECT_EQ(record->number, 4u);
  EXPECT_TRUE(record->transfer);
}

// Its thread hangs.
TEST(StateDonor, WhoseStateIsNotReadyForLongCannotGive) {
  for (const bool alone : {false, true}) {
    Donating replica;
    if (alone) replica.view().replicas.resize(1);
    replica.take_records(3);
    replica.donor.on(DonateTo{5, kNewcomer});
    auto overdue = std::get<StateOverdue>(replica.sent.self.back().second);
    replica.donor.on(overdue);
    EXPECT_TRUE(replica.sent.node.empty()) << "it looks several times";
    overdue.looks = 1;
    replica.donor.on(overdue);
    EXPECT_EQ(last_as<Trouble>(replica.sent.node) != nullptr, !alone) << "others can give it";
    EXPECT_EQ(last_as<Raised>(replica.sent.node) != nullptr, alone);
    replica.sent.node.clear();
    replica.donor.on(StateCopied{5, kNewcomer, 3, nullptr});
    replica.donor.on(overdue);
    EXPECT_TRUE(replica.sent.node.empty()) << "it is ready";
  }
}

TEST(StateDonor, TheStateIsNotGivenWhileARecordIsAppliedOrPartsAreDealt) {
  Donating replica;
  replica.context.phase.record_taken();
  replica.donor.on(DonateTo{5, kNewcomer});
  EXPECT_EQ(replica.jobs->size(), 0u);
  replica.context.phase.record_applied();
  replica.deal.enter({}, 5);
  replica.donor.donate();
  EXPECT_EQ(replica.jobs->size(), 0u) << "its state is not the view's yet";
  replica.deal.skip();
  replica.replacement.enter(true);
  replica.donor.donate();
  EXPECT_EQ(replica.jobs->size(), 0u) << "its state is to be replaced";
  replica.replacement.in_place();
  replica.donor.donate();
  EXPECT_EQ(replica.jobs->size(), 1u);
}

TEST(StateDonor, ANewcomerThatIsGoneIsFedNoMore) {
  Donating replica;
  replica.donor.on(DonateTo{5, kNewcomer});
  replica.donor.on(DonateTo{4, kNewcomer, true});
  EXPECT_TRUE(replica.donor.feeds_somebody()) << "that was in another view";
  replica.donor.on(DonateTo{5, kNewcomer, true});
  EXPECT_FALSE(replica.donor.feeds_somebody());
}

TEST(StateDonor, MembersAreSentTheLastRecordThatTheyMiss) {
  Donating replica;
  replica.take_record();
  replica.take_record();
  EXPECT_EQ(replica.donor.kept_from(), 2u) << "nobody is fed: only the last one can be made again";
  replica.view().behind = {{2, 1}};
  replica.donor.send_missing();
  const auto* record = last_as<TransferOut>(replica.sent.reducer);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->to, 2u);
  EXPECT_EQ(record->number, 2u);
  replica.view().behind = {{2, 0}};
  replica.donor.send_missing();
  const auto* trouble = last_as<Trouble>(replica.sent.node);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->reason, "record 1 is not kept here any more");
}

TEST(StateDonor, ARecordThatIsTakenBackIsNotKept) {
  Donating replica;
  replica.donor.on(DonateTo{5, kNewcomer});
  replica.take_record();
  EXPECT_EQ(replica.donor.kept_from(), 1u);
  replica.donor.take_back();
  replica.last.forget();
  EXPECT_EQ(replica.donor.kept_from(), replica.position->records() + 1);
}

TEST(StateDonor, ANewcomerThatIsTooSlowIsReported) {
  Donating replica;
  replica.donor.on(DonateTo{5, kNewcomer});
  while (replica.donor.feeds_somebody() && replica.position->records() < 10000) replica.take_record();
  const auto* failing = last_as<Failing>(replica.sent.node);
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->peer.slot, kNewcomer);
}

}  // namespace
}  // namespace muster::state_donor_test
