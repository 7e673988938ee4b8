// The simulator's rules find what they are there for.
#include "tests/simulation/invariant_rules.hpp"

#include <gtest/gtest.h>

#include "tests/simulation/end_rules.hpp"

namespace muster::simulation {
namespace {

const std::vector<float> kStates[] = {{1, 2}, {3, 4}, {5, 6}};

// Two steps and the end of an epoch, of one shard.
OracleResult small_oracle() {
  OracleResult oracle;
  for (std::uint64_t step = 1; step <= 2; ++step) {
    const ShardReport shard_report{0, 0, 4, 0, (step - 1) * 4, 4, 4};
    oracle.records.push_back(
        {RoundKind::train, 1, true, step, 4, {shard_report}, {}, fingerprint_of(kStates[step])});
  }
  oracle.records.push_back({RoundKind::train, 1, false, 2, 0, {{0, 1, 0, 0, 0, 0, 0}}, {}, 0});
  oracle.steps = 2;
  oracle.weights_sha256 = "abc";
  oracle.epochs = {{8, 0, true}};
  return oracle;
}

RoundRecord record_of(const OracleResult& oracle, std::size_t index) {
  const OracleRecord& expected = oracle.records[index];
  RoundRecord record;
  record.kind = expected.kind;
  record.epoch = expected.epoch;
  record.step = expected.step;
  record.shards = expected.shards;
  record.weight = expected.weight;
  return record;
}

TEST(MajorityRule, LetsNobodyOfAMajorityGoBeforeFivePatiences) {
  const auto patience = std::chrono::milliseconds(100), cut = 10 * patience;
  MajorityRule rule;
  rule.cut({"replica 0", "replica 1"}, 3, cut);
  EXPECT_EQ(rule.lost("replica 0", patience, cut + patience).invariant, 11);
  EXPECT_FALSE(rule.lost("replica 0", patience, cut + 5 * patience));
  EXPECT_FALSE(rule.lost("replica 2", patience, cut + patience));
}

TEST(MajorityRule, SaysNothingOfAHalfNorOfTwo) {
  const auto patience = std::chrono::milliseconds(100);
  MajorityRule half, two;
  half.cut({"replica 0", "replica 1"}, 4, patience);
  EXPECT_FALSE(half.lost("replica 0", patience, 2 * patience));
  two.cut({"replica 0", "replica 1"}, 2, patience);
  EXPECT_FALSE(two.lost("replica 0", patience, 2 * patience));
}

TEST(ReplicaRule, TakesTheOraclesSchedule) {
  const OracleResult oracle = small_oracle();
  ReplicaRule rule(oracle);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(rule.record(1, 0, record_of(oracle, i))) << i;
    if (i < 2) {
      EXPECT_FALSE(rule.applied(i + 1, kStates[i + 1]));
    }
  }
  EXPECT_EQ(rule.record(1, 0, record_of(oracle, 2)).invariant, 3);  // beyond the end
}

TEST(ReplicaRule, FindsAnotherStateAnotherDivisorAndOtherSamples) {
  const OracleResult oracle = small_oracle();
  ReplicaRule other_state(oracle);
  EXPECT_FALSE(other_state.record(1, 0, record_of(oracle, 0)));
  EXPECT_EQ(other_state.applied(1, kStates[2]).invariant, 2);
  RoundRecord divisor = record_of(oracle, 0);
  divisor.weight = 5;
  EXPECT_EQ(ReplicaRule(oracle).record(1, 0, divisor).invariant, 3);
  RoundRecord samples = record_of(oracle, 0);
  samples.shards[0].first = 1;
  EXPECT_EQ(ReplicaRule(oracle).record(1, 0, samples).invariant, 1);
}

TEST(ReplicaRule, FindsAStepThatIsDoneTwiceOrLeftOut) {
  const OracleResult oracle = small_oracle();
  ReplicaRule twice(oracle);
  EXPECT_FALSE(twice.record(1, 0, record_of(oracle, 0)));
  EXPECT_EQ(twice.record(1, 0, record_of(oracle, 0)).invariant, 3);
  EXPECT_EQ(ReplicaRule(oracle).record(1, 0, record_of(oracle, 1)).invariant, 3);
  ReplicaRule without(oracle);
  EXPECT_EQ(without.applied(1, kStates[1]).invariant, 3);
}

TEST(ReplicaRule, FindsABrokenPromise) {
  const OracleResult oracle = small_oracle();
  ReplicaRule rule(oracle);
  EXPECT_FALSE(rule.record(1, 0, record_of(oracle, 0)));
  EXPECT_FALSE(rule.applied(1, kStates[1]));
  EXPECT_FALSE(rule.promised(1, 1));
  EXPECT_EQ(rule.record(1, 0, record_of(oracle, 1)).invariant, 5);
  rule.begun(2);
  EXPECT_FALSE(rule.record(2, 1, record_of(oracle, 1)));
}

TEST(ReplicaRule, FindsAReportOfMoreThanItHolds) {
  const OracleResult oracle = small_oracle();
  ReplicaRule rule(oracle);
  EXPECT_FALSE(rule.record(1, 0, record_of(oracle, 0)));
  EXPECT_FALSE(rule.applied(1, kStates[1]));
  EXPECT_EQ(rule.promised(1, 2).invariant, 3);
  EXPECT_EQ(rule.promised(1, 0).invariant, 3);
  rule.transferred();
  EXPECT_EQ(rule.promised(1, 2).invariant, 3) << "transferred, and not applied";
}

TEST(ReplicaRule, FindsANewcomerThatTakesPartTooEarly) {
  const OracleResult oracle = small_oracle();
  ReplicaRule rule(oracle);
  rule.observes();
  EXPECT_EQ(rule.caught_up(1).invariant, 7);
  EXPECT_FALSE(rule.applied(2, kStates[2]));
  EXPECT_FALSE(rule.caught_up(2));
  EXPECT_FALSE(rule.record(3, 2, record_of(oracle, 2)));
  ReplicaRule early(oracle);
  early.observes();
  EXPECT_EQ(early.record(3, 1, record_of(oracle, 1)).invariant, 7);
}

View view_of(std::uint32_t number, std::uint64_t records) {
  View view;
  view.number = number;
  view.records = records;
  view.replicas = {{{false, 0}, 1, "a", 0, 2}, {{false, 1}, 2, "b", 2, 4}};
  return view;
}

TEST(ViewRule, FindsAViewThatGoesOnFromTooFewOrTooMany) {
  ViewRule rule(4);
  EXPECT_FALSE(rule.made(view_of(1, 0), {{0, {0, 0}}, {1, {0, 0}}}));
  EXPECT_EQ(rule.made(view_of(2, 4), {{0, {5, 5}}, {1, {4, 4}}}).invariant, 3);
  EXPECT_EQ(rule.made(view_of(2, 6), {{0, {5, 5}}, {1, {5, 5}}}).invariant, 3);
  View behind = view_of(2, 5);
  behind.behind = {{1, 4}};
  EXPECT_FALSE(rule.made(behind, {{0, {5, 5}}, {1, {4, 4}}}));
  EXPECT_EQ(rule.made(view_of(2, 5), {{0, {5, 5}}, {1, {5, 5}}}).invariant, 6) << "its number is not new";
}

// What was on its way in a pause comes to a newcomer before the view does; a member has said what it holds.
TEST(ViewRule, ANewcomerMayHoldMoreThanItHasSaid) {
  View view = view_of(1, 5);
  view.behind = {{1, 4}};
  EXPECT_EQ(ViewRule(4).made(view, {{0, {5, 5}}, {1, {5, 5}}}).invariant, 3);
  view.replicas[1].since = 1;
  EXPECT_FALSE(ViewRule(4).made(view, {{0, {5, 5}}, {1, {5, 5}}}));
  EXPECT_EQ(ViewRule(4).made(view, {{0, {5, 5}}, {1, {3, 3}}}).invariant, 3);
}

TEST(ViewRule, FindsShardsThatNobodyOrTwoHold) {
  View gap = view_of(1, 0);
  gap.replicas[1].begin = 3;
  EXPECT_EQ(ViewRule(4).made(gap, {}).invariant, 3);
  View twice = view_of(1, 0);
  twice.replicas[1].begin = 1;
  EXPECT_EQ(ViewRule(4).made(twice, {}).invariant, 3);
}

TEST(ViewRule, FindsOneLeftBehindThatGoesOn) {
  ViewRule rule(4);
  EXPECT_FALSE(rule.made(view_of(1, 0), {}));
  EXPECT_FALSE(rule.made(view_of(2, 5), {{0, {5, 5}}, {1, {5, 5}}}));
  EXPECT_FALSE(rule.committed(3, 1, 5)) << "one record ahead is harmless";
  EXPECT_EQ(rule.committed(3, 1, 6).invariant, 6);
}

Frame frame_of(std::uint32_t view, std::uint64_t bytes) {
  Frame frame;
  frame.view = view;
  frame.from = 1;
  frame.incarnation = 7;
  frame.bytes = bytes;
  return frame;
}

TEST(FrameRule, FindsFramesThatShouldNotBeLetIn) {
  std::vector<std::byte> place(8);
  FrameRule rule;
  rule.entered(3);
  EXPECT_FALSE(rule.placed(frame_of(2, 8), {}, 7));
  EXPECT_EQ(rule.placed(frame_of(2, 8), place, 7).invariant, 5);
  EXPECT_EQ(rule.placed(frame_of(3, 8), place, 8).invariant, 5) << "of another incarnation";
  EXPECT_FALSE(rule.placed(frame_of(4, 8), place, 0)) << "a greeting of the next view";
  rule.ended(place);
  EXPECT_FALSE(rule.placed(frame_of(3, 8), place, 7));
  rule.ended(place);
  EXPECT_FALSE(rule.closed(3));
  EXPECT_EQ(rule.placed(frame_of(3, 8), place, 7).invariant, 5);
}

TEST(FrameRule, FindsBuffersThatAreUsedTwice) {
  std::vector<std::byte> place(16);
  FrameRule rule;
  rule.entered(3);
  EXPECT_FALSE(rule.placed(frame_of(3, 8), std::span(place).first(8), 7));
  EXPECT_EQ(rule.placed(frame_of(3, 8), std::span(place).subspan(4, 8), 7).invariant, 9);
  EXPECT_FALSE(rule.sending(frame_of(3, 16), place, 1));
  EXPECT_FALSE(rule.sent(1));
  EXPECT_FALSE(rule.sending(frame_of(3, 16), place, 2));
  place[3] = std::byte{1};
  EXPECT_EQ(rule.sent(2).invariant, 9);
  EXPECT_EQ(rule.sent(2).invariant, 9) << "it ended twice";
}

TEST(FrameRule, FindsSumsOfMemoryThatWasTakenBack) {
  const std::vector<std::byte> bytes(8);
  Frame sum = frame_of(3, 8);
  ResultBody{}.put_into(sum);
  sum.round = 5;
  FrameRule rule;
  rule.entered(3);
  EXPECT_FALSE(rule.sending(sum, bytes, 1)) << "before it was";
  rule.revoked(sum);
  EXPECT_EQ(rule.sending(sum, bytes, 2).invariant, 9);
  EXPECT_FALSE(rule.record(3, 4));
  EXPECT_EQ(rule.record(3, 5).invariant, 9);
  EXPECT_FALSE(rule.record(4, 5));
  ResultBody{{1, 0, 0}}.put_into(sum);
  EXPECT_FALSE(rule.sending(sum, bytes, 3)) << "another sum of the round";
}

TEST(FrameRule, FindsAViewThatIsCalledInstalledTooEarly) {
  FrameRule rule;
  EXPECT_EQ(rule.installed(1).invariant, 5);
  rule.entered(2);
  EXPECT_FALSE(rule.installed(1));
  EXPECT_FALSE(rule.installed(2));
  EXPECT_EQ(rule.installed(3).invariant, 5);
}

TEST(FrameRule, FindsAViewThatIsClosedTooEarly) {
  std::vector<std::byte> bytes(8);
  FrameRule sends;
  sends.entered(3);
  EXPECT_FALSE(sends.sending(frame_of(3, 8), bytes, 1));
  EXPECT_EQ(sends.closed(3).invariant, 9);
  FrameRule arrives;
  arrives.entered(3);
  EXPECT_FALSE(arrives.placed(frame_of(3, 8), bytes, 7));
  EXPECT_EQ(arrives.closed(3).invariant, 9);
  FrameRule early;
  early.entered(2);
  EXPECT_FALSE(early.placed(frame_of(3, 8), bytes, 7));
  early.entered(3);
  EXPECT_FALSE(early.closed(3)) << "it arrives in a buffer of the engine's own";
}

TEST(Outage, LastsUntilNowAtMost) {
  using std::chrono::seconds;
  Outage outage(seconds(5));
  EXPECT_EQ(outage.longest(seconds(100)), seconds(0));
  outage.begins(seconds(10), seconds(30));
  EXPECT_EQ(outage.longest(seconds(12)), seconds(2)) << "it is to last, and has not yet";
  EXPECT_EQ(outage.longest(seconds(90)), seconds(30));
}

TEST(Outage, AShortBreakCountsAsNoneAndALongOneEndsIt) {
  using std::chrono::seconds;
  Outage outage(seconds(5));
  outage.begins(seconds(10), seconds(10));
  outage.begins(seconds(24), seconds(6));
  EXPECT_EQ(outage.longest(seconds(50)), seconds(20));
  outage.begins(seconds(40), seconds(15));
  EXPECT_EQ(outage.longest(seconds(60)), seconds(20)) << "the one before was longer";
  EXPECT_EQ(outage.longest(seconds(42)), seconds(20));
}

TEST(FailedPlaces, TwoMustHaveFailedAtThePlaceThatIsNamed) {
  const ErrorPlace one{0, false, 1, 2}, other{1, false, 1, 2};
  const auto says = [](const ErrorPlace& at) { return "two nodes have failed at " + at.text() + ", a"; };
  FailedPlaces places;
  places.failed({false, 0}, one);
  places.failed({false, 1}, other);
  places.failed({false, 0}, one);
  EXPECT_FALSE(places.two_have_failed(says(one))) << "the same one twice";
  places.failed({false, 2}, one);
  EXPECT_TRUE(places.two_have_failed(says(one)));
  EXPECT_FALSE(places.two_have_failed(says(other)));
  places.failed({false, 0}, {});
  places.failed({false, 1}, {});
  EXPECT_FALSE(places.two_have_failed(says({}))) << "nowhere is no place";
}

TEST(EndRules, WrongBitsEndARunWhereThereIsNoMajority) {
  EXPECT_TRUE(may_stop_for_wrong_bits(OnCorruption::evict, 2));
  EXPECT_FALSE(may_stop_for_wrong_bits(OnCorruption::evict, 3));
  EXPECT_TRUE(may_stop_for_wrong_bits(OnCorruption::stop, 3));
  EXPECT_FALSE(may_stop_for_wrong_bits(OnCorruption::report, 2));
}

TEST(EndRules, NoStepWasDoneWhereNobodyHasDoneOne) {
  EXPECT_TRUE(may_have_done_no_step(std::vector<std::uint64_t>{0, 0}, false));
  EXPECT_FALSE(may_have_done_no_step(std::vector<std::uint64_t>{0, 1}, false));
  EXPECT_TRUE(may_have_done_no_step(std::vector<std::uint64_t>{0, 1}, true)) << "all went back";
}

TEST(EndRules, AWriteIsHeldUpByItsDiskOrByWhoHasAPartOfIt) {
  Tally tally;
  tally.count("fault: join", 3);
  EXPECT_FALSE(writing_may_be_held_up(tally, true));
  tally.count("fault: freeze-for-good");
  EXPECT_FALSE(writing_may_be_held_up(tally, false));
  EXPECT_TRUE(writing_may_be_held_up(tally, true));
  tally.count("fault: disk-full");
  EXPECT_TRUE(writing_may_be_held_up(tally, false));
}

TEST(ReportRule, FindsAWrongReport) {
  const OracleResult oracle = small_oracle();
  Report report;
  report.steps = 2;
  report.weights_sha256 = "abc";
  EpochEnd epoch;
  epoch.epoch = 1;
  epoch.complete = true;
  epoch.used = 8;
  report.epochs = {epoch};
  EXPECT_FALSE(report_rule(report, oracle));
  Report repeated = report;
  repeated.epochs[0].repeated = 1;
  EXPECT_EQ(report_rule(repeated, oracle).invariant, 1);
  Report weights = report;
  weights.weights_sha256 = "abd";
  EXPECT_EQ(report_rule(weights, oracle).invariant, 4);
}

TEST(ReportRule, FindsRowsWithOtherCountsAndLosses) {
  OracleResult oracle = small_oracle();
  oracle.samples = 8;
  oracle.epochs = {{8, 0, true, 2, 8, 0.5, 0.25}};
  Report report;
  report.steps = 2;
  report.samples = 8;
  report.weights_sha256 = "abc";
  EpochEnd epoch;
  epoch.epoch = 1;
  epoch.complete = epoch.evaluated = true;
  epoch.steps = 2;
  epoch.samples = epoch.used = 8;
  epoch.train_loss = 0.5;
  epoch.loss = 0.25;
  report.epochs = {epoch};
  EXPECT_FALSE(report_rule(report, oracle));
  const auto is_found = [&](auto change) {
    Report wrong = report;
    change(wrong, wrong.epochs[0]);
    return report_rule(wrong, oracle).invariant != 0;
  };
  EXPECT_TRUE(is_found([](Report& all, EpochEnd&) { all.samples = 7; }));
  EXPECT_TRUE(is_found([](Report&, EpochEnd& row) { row.steps = 1; }));
  EXPECT_TRUE(is_found([](Report&, EpochEnd& row) { row.samples = 4; }));
  EXPECT_TRUE(is_found([](Report&, EpochEnd& row) { row.train_loss = 0.51; }));
  EXPECT_TRUE(is_found([](Report&, EpochEnd& row) { row.loss = 0; }));
  EXPECT_TRUE(is_found([](Report&, EpochEnd& row) { row.evaluated = false; }));
}

TEST(LedgerRule, FindsSamplesThatWereUsedTwiceOrMissed) {
  Report report;
  report.epochs.resize(2);
  EXPECT_FALSE(ledger_rule(report));
  report.epochs[1].missed = 1;
  EXPECT_EQ(ledger_rule(report).invariant, 1);
  report.epochs[1].missed = 0;
  report.epochs[1].repeated = 1;
  EXPECT_EQ(ledger_rule(report).invariant, 1);
}

}  // namespace
}  // namespace muster::simulation
