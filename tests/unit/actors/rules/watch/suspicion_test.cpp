#include <gtest/gtest.h>

#include <cmath>

#include "actors/rules/watch/suspicion.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

const NodeName kOne{false, 1}, kTwo{false, 2};

TEST(PhiAccrual, IsTheLogarithmOfTheChanceOfALaterHeartbeat) {
  PhiAccrual accrual(milliseconds(100));
  EXPECT_EQ(accrual.phi(milliseconds(5000)), 0) << "nothing is expected before the first";
  for (int beat = 0; beat <= 50; ++beat) accrual.heard(milliseconds(100 * beat));
  // Deviation 100 ms (the floor), mean 100 ms: at the mean half of all heartbeats are still to come.
  EXPECT_NEAR(accrual.phi(milliseconds(5100)), -std::log10(0.5), 1e-9);
  EXPECT_NEAR(accrual.phi(milliseconds(5200)), -std::log10(0.158655), 1e-5) << "one deviation above";
  EXPECT_NEAR(accrual.phi(milliseconds(5400)), -std::log10(0.00134990), 1e-5) << "three";
  EXPECT_EQ(accrual.phi(std::chrono::hours(1)), PhiAccrual::kPhiMax);
}

TEST(PhiAccrual, AnIrregularSourceIsGivenMoreTime) {
  PhiAccrual regular(milliseconds(100)), irregular(milliseconds(100));
  milliseconds one{0}, other{0};
  for (int beat = 0; beat < 60; ++beat) {
    regular.heard(one += milliseconds(100));
    irregular.heard(other += milliseconds(beat % 4 == 0 ? 700 : 20));
  }
  EXPECT_GT(regular.phi(one + milliseconds(800)), 8);
  EXPECT_LT(irregular.phi(other + milliseconds(800)), 3);
}

TEST(PhiAccrual, OldIntervalsAreForgotten) {
  PhiAccrual accrual(milliseconds(100));
  milliseconds now{0};
  for (int beat = 0; beat < 100; ++beat) accrual.heard(now += milliseconds(1000));
  EXPECT_LT(accrual.phi(now + milliseconds(900)), 1);
  for (std::size_t beat = 0; beat < PhiAccrual::kWindow; ++beat) accrual.heard(now += milliseconds(100));
  EXPECT_GT(accrual.phi(now + milliseconds(900)), 8);
}

// Heartbeats of one node every 100 ms up to and including `until`, a judgement every 50 ms.
milliseconds beat(Suspicion& suspicion, const NodeName& name, milliseconds until) {
  for (milliseconds now{0}; now <= until; now += milliseconds(50)) {
    if (now % milliseconds(100) == milliseconds(0)) suspicion.heard(name, now);
    EXPECT_TRUE(suspicion.judge(now).changed.empty()) << now.count();
  }
  return until;
}

TEST(Suspicion, SuspectsEarlyAndEvictsAtThePatience) {
  Suspicion suspicion({});
  const milliseconds last = beat(suspicion, kOne, milliseconds(3000));
  milliseconds suspected{0}, silent{0};
  for (milliseconds now = last + milliseconds(50); silent == milliseconds(0); now += milliseconds(50)) {
    for (const auto& opinion : suspicion.judge(now).changed) {
      EXPECT_EQ(opinion.name, kOne);
      EXPECT_EQ(opinion.silence, now - last);
      if (opinion.kind == Suspicion::Kind::suspected) suspected = now - last;
      if (opinion.kind == Suspicion::Kind::silent) silent = now - last;
      EXPECT_GE(opinion.phi, 8);
    }
  }
  EXPECT_EQ(suspected, milliseconds(700));
  EXPECT_EQ(silent, milliseconds(1000));
}

TEST(Suspicion, AHeartbeatMakesTrustedAgainOnce) {
  Suspicion suspicion({});
  milliseconds now = beat(suspicion, kOne, milliseconds(2000));
  int suspected = 0;
  while (now < milliseconds(2900))
    suspected += static_cast<int>(suspicion.judge(now += milliseconds(50)).changed.size());
  EXPECT_EQ(suspected, 1) << "said when it changes, and not again";
  suspicion.heard(kOne, now);
  const auto after = suspicion.judge(now += milliseconds(50));
  ASSERT_EQ(after.changed.size(), 1u);
  EXPECT_EQ(after.changed[0].kind, Suspicion::Kind::trusted);
  EXPECT_TRUE(suspicion.judge(now + milliseconds(50)).changed.empty());
}

TEST(Suspicion, WhoWasNeverHeardOrIsForgottenIsNotJudged) {
  Suspicion suspicion({});
  suspicion.heard(kOne, milliseconds(0));
  suspicion.heard(kTwo, milliseconds(0));
  suspicion.forget(kOne);
  std::vector<NodeName> silent;
  for (milliseconds now{0}; now <= milliseconds(1000); now += milliseconds(50)) {
    for (const auto& opinion : suspicion.judge(now).changed) {
      if (opinion.kind == Suspicion::Kind::silent) silent.push_back(opinion.name);
    }
  }
  EXPECT_EQ(silent, std::vector<NodeName>{kTwo});
  EXPECT_EQ(suspicion.last_heard(kOne), milliseconds(0));
}

TEST(Suspicion, ADetectorThatWasStoppedBlamesNobodyForIt) {
  Suspicion suspicion({});
  const milliseconds last = beat(suspicion, kOne, milliseconds(2000));
  suspicion.heard(kTwo, milliseconds(1700));
  // The detector is stopped for five seconds; the heartbeats of the live one lie in its queue.
  const milliseconds woken(7000);
  const auto first = suspicion.judge(woken);
  EXPECT_EQ(first.late, milliseconds(4950));
  EXPECT_TRUE(first.changed.empty());
  for (int i = 0; i < 50; ++i) suspicion.heard(kOne, woken + milliseconds(1));
  EXPECT_TRUE(suspicion.judge(woken + milliseconds(50)).changed.empty());
  // The other one was silent for 300 ms before the stop, and is silent since.
  milliseconds now = woken + milliseconds(50);
  milliseconds silent{0};
  while (silent == milliseconds(0) && now < milliseconds(9000)) {
    now += milliseconds(50);
    suspicion.heard(kOne, now);
    for (const auto& opinion : suspicion.judge(now).changed) {
      EXPECT_EQ(opinion.name, kTwo);
      if (opinion.kind == Suspicion::Kind::silent) silent = now - woken;
    }
  }
  EXPECT_EQ(silent, milliseconds(650)) << "1,000 less the 300 before the stop, less the 50 of the tick";
  EXPECT_GT(silent, milliseconds(0));
  EXPECT_GE(suspicion.last_heard(kOne), last);
}

TEST(Suspicion, ADetectorThatIsAlwaysLateIsPatientButNotBlind) {
  // It runs every 400 ms instead of every 50: each time it loses 350 ms, and counts 50.
  Suspicion suspicion({});
  suspicion.heard(kOne, milliseconds(0));
  suspicion.judge(milliseconds(0));
  milliseconds silent{0};
  for (milliseconds now(400); silent == milliseconds(0) && now <= milliseconds(40000);
       now += milliseconds(400)) {
    const auto judgement = suspicion.judge(now);
    EXPECT_EQ(judgement.late, milliseconds(350));
    for (const auto& opinion : judgement.changed) {
      if (opinion.kind == Suspicion::Kind::silent) silent = now;
    }
  }
  EXPECT_EQ(silent, milliseconds(8000)) << "20 runs of 50 ms";
}

}  // namespace
}  // namespace muster
