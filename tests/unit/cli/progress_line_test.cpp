// Which events a run prints, and which it leaves out.
#include "cli/progress_line.hpp"

#include <gtest/gtest.h>

#include "actors/events/event.hpp"
#include "base/bounded/line_output.hpp"

namespace muster::cli {
namespace {

std::string printed(ProgressLine& line, const std::vector<Event>& events) {
  ::testing::internal::CaptureStderr();
  for (const Event& event : events) line.show(event);
  EXPECT_TRUE(error_output().written_within(std::chrono::seconds(60)));
  return ::testing::internal::GetCapturedStderr();
}

Event view_of(std::int64_t members) {
  return make_event("view",
                    {{"view", std::int64_t{2}}, {"members", members}, {"transport", std::string("tcp")}});
}

Event epoch_of(std::int64_t epoch) {
  Event event;
  event.name = "epoch";
  EventField field;
  field.key = "epoch";
  field.integer = epoch;
  event.fields.push_back(field);
  return event;
}

Event one_left() {
  Event event = make_event("left", {{"replica", std::int64_t{1}}, {"pid", std::int64_t{4711}}});
  where(event, "host2", "10.0.0.2");
  return event;
}

Job two_epochs() {
  Job job;
  job.train.epochs = 2;
  return job;
}

TEST(ProgressLine, SaysWhoHasLeftUnlessTheJobIsDone) {
  ProgressLine line(two_epochs(), false, true);
  EXPECT_EQ(printed(line, {one_left()}), "left: replica 1 on host2 (10.0.0.2)\n");
  EXPECT_EQ(printed(line, {epoch_of(2)}).find("epoch 2"), 0u);
  EXPECT_EQ(printed(line, {one_left()}), "") << "all leave";
}

TEST(ProgressLine, CallsNobodyReadyOnceTheRunIsToldToEnd) {
  ProgressLine line(two_epochs(), false, true);
  EXPECT_EQ(printed(line, {view_of(2)}), "2 replicas ready  (tcp)\n");
  const Event told = make_event("interrupted", {{"reason", std::string("SIGTERM")}});
  EXPECT_EQ(printed(line, {told, view_of(2)}), "muster: interrupted: SIGTERM\n");
}

}  // namespace
}  // namespace muster::cli
