#include "actors/run/event_feed.hpp"
#include "actors/events/event.hpp"
#include "base/bounded/line_output.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr auto kLong = 60s;

Event numbered(int number) {
  return make_event("notice", {{"text", std::to_string(number)}});
}

/// Functions that wait, once, until they are let go.
struct Held {
  void wait() {
    entered.set_value();
    EXPECT_EQ(go.get_future().wait_for(kLong), std::future_status::ready);
  }
  std::promise<void> entered, go;
};

TEST(EventFeed, TellsAllInTheirOrder) {
  std::vector<std::string> told;
  {
    EventFeed feed([&](const Event& event) { told.push_back(event.text("text")); }, nullptr);
    for (int i = 0; i < 1000; ++i) feed.push(numbered(i));
  }
  ASSERT_EQ(told.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(told[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST(EventFeed, WhoWaitsHoldsUpNobodyAndIsToldWhatWasMissed) {
  Held held;
  std::vector<Event> told;
  EventFeed feed(
      [&](const Event& event) {
        told.push_back(event);
        if (told.size() == 1) held.wait();
      },
      nullptr, 2);
  feed.push(numbered(0));
  held.entered.get_future().wait();
  for (int i = 1; i < 10; ++i) feed.push(numbered(i));  // 1 and 2 wait
  EXPECT_FALSE(feed.delivered_within(0ms));
  held.go.set_value();
  ASSERT_TRUE(feed.delivered_within(kLong));
  feed.push(numbered(10));
  ASSERT_TRUE(feed.delivered_within(kLong));
  ASSERT_EQ(told.size(), 5u);
  EXPECT_EQ(told[2].text("text"), "2");
  EXPECT_EQ(told[3].name, "missed");
  EXPECT_EQ(told[3].integer("count"), 7);
  EXPECT_EQ(told[4].text("text"), "10");
}

TEST(EventFeed, OfProgressTheLastOneWaits) {
  Held held;
  std::vector<std::uint64_t> steps;
  EventFeed feed(nullptr, [&](const Progress& progress, const DataFacts&) {
    steps.push_back(progress.step);
    if (steps.size() == 1) held.wait();
  });
  Progress progress;
  progress.step = 1;
  feed.push(progress, DataFacts{});
  held.entered.get_future().wait();
  for (progress.step = 2; progress.step < 10; ++progress.step) feed.push(progress, DataFacts{});
  held.go.set_value();
  ASSERT_TRUE(feed.delivered_within(kLong));
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 9}));
}

TEST(EventFeed, OneThatThrowsIsCalledNoMore) {
  int told = 0;
  EventFeed feed([&](const Event&) { ++told == 1 ? throw std::runtime_error("the log is full") : void(); },
                 [&](const Progress&, const DataFacts&) { ++told; });
  ::testing::internal::CaptureStderr();
  feed.push(numbered(0));
  feed.push(numbered(1));
  feed.push(Progress{}, DataFacts{});
  EXPECT_TRUE(feed.delivered_within(kLong));
  EXPECT_TRUE(error_output().written_within(kLong));
  EXPECT_EQ(told, 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("is called no more: the log is full"),
            std::string::npos);
}

TEST(EventFeed, WithoutFunctionsThereIsNothingToWaitFor) {
  EventFeed feed(nullptr, nullptr);
  feed.push(numbered(0));
  feed.push(Progress{}, DataFacts{});
  EXPECT_TRUE(feed.delivered_within(kLong));
}

}  // namespace
}  // namespace muster
