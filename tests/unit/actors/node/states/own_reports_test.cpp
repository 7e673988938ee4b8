#include "actors/node/states/own_reports.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr OwnReports::Time kNow{100s};

Failing complaint_about(std::uint32_t slot) {
  Failing complaint;
  complaint.peer_known = true;
  complaint.peer = {false, slot};
  return complaint;
}

// The kinds of reports that are repeated, in their order.
struct Kinds {
  std::string all;
  void operator()(const Failing& message) { all += message.peer_known ? "complaint " : "failure "; }
  void operator()(const UnlikeBits&) { all += "unlike "; }
  void operator()(const WentBack&) { all += "back "; }
  void operator()(const Leaving&) { all += "leaving "; }
};

std::string repeated(const OwnReports& reports) {
  Kinds kinds;
  reports.repeat([&](const auto& report) { kinds(report); });
  return kinds.all;
}

OwnReports with_one_of_each() {
  OwnReports reports;
  reports.leaves({{}, "SIGTERM"}, OwnReports::Time(std::chrono::seconds(7)));
  reports.broke(complaint_about(1));
  reports.went_back({});
  reports.found_unlike({});
  EXPECT_TRUE(reports.failed({}));
  return reports;
}

TEST(OwnReports, WhoLeavesAloneKeepsWhatItHolds) {
  const OwnReports reports = with_one_of_each();
  EXPECT_EQ(reports.leaving_since(), OwnReports::Time(std::chrono::seconds(7)));
  const Stop stop = reports.leaves_alone();
  EXPECT_TRUE(stop.good);
  EXPECT_TRUE(stop.keep);
  EXPECT_FALSE(stop.again);
  EXPECT_EQ(stop.reason, "SIGTERM, while the coordinator does not answer");
}

TEST(OwnReports, AllAreRepeatedToACoordinatorThatIsStartedAnew) {
  EXPECT_EQ(repeated(OwnReports()), "");
  EXPECT_EQ(repeated(with_one_of_each()), "failure unlike back complaint leaving ");
}

TEST(OwnReports, WhatIsOfTheViewEndsWithIt) {
  OwnReports reports = with_one_of_each();
  View view;
  view.replicas.resize(2);
  view.replicas[0].clean = 4;
  view.replicas[1].clean = 6;
  reports.entered(view);
  EXPECT_EQ(repeated(reports), "failure leaving ");
  EXPECT_EQ(reports.clean(), (std::vector<std::uint64_t>{4, 6}));
  view.last = true;
  reports.entered(view);
  EXPECT_EQ(repeated(reports), "leaving ") << "it may still write what it holds";
}

TEST(OwnReports, OnlyTheFirstErrorCounts) {
  OwnReports reports;
  EXPECT_TRUE(reports.failed({}));
  EXPECT_FALSE(reports.failed({}));
}

TEST(OwnReports, ComplaintsAreToldAgainUntilThereIsANewConnection) {
  OwnReports reports;
  EXPECT_TRUE(reports.complaints(kNow, 500ms).empty());
  reports.broke(complaint_about(1));
  reports.broke(complaint_about(2));
  EXPECT_EQ(reports.complaints(kNow, 500ms).size(), 2u);
  EXPECT_TRUE(reports.complaints(kNow + 400ms, 500ms).empty());
  reports.connected({false, 1});
  const auto left = reports.complaints(kNow + 500ms, 500ms);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].peer.slot, 2u);
  reports.observes();
  EXPECT_TRUE(reports.complaints(kNow + 2s, 500ms).empty());
}

// A coordinator that stands still reads nothing, and memory is not filled with what it will not need.
TEST(OwnReports, OfMuchProgressTheLastOneWaitsForASignOfLife) {
  OwnReports reports;
  Progress progress;
  for (std::size_t sent = 0; sent < OwnReports::kUnheardMax; ++sent) {
    ++progress.step;
    ASSERT_FALSE(reports.holds_back(progress)) << progress.step;
  }
  EXPECT_FALSE(OwnReports(reports).heard()) << "nothing is held back";
  for (int more = 0; more < 3; ++more) {
    ++progress.step;
    EXPECT_TRUE(reports.holds_back(progress));
  }
  const auto last = reports.heard();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->step, progress.step);
  EXPECT_FALSE(reports.heard()) << "it is told once";
  EXPECT_FALSE(reports.holds_back(progress));
}

}  // namespace
}  // namespace muster
