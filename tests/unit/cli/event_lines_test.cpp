// What people read on the terminal of a run.
#include <gtest/gtest.h>

#include <algorithm>

#include "actors/events/event.hpp"
#include "cli/event_lines.hpp"

namespace muster::cli {
namespace {

std::string text_of(const Event& event) {
  const auto line = line_of(event);
  return line ? line->text : "none";
}

// With a value for every field.
Event one_of(const EventSpec& spec) {
  Event event;
  event.name = spec.name;
  for (const EventFieldSpec& field : spec.fields) {
    EventField value;
    value.key = field.key;
    value.kind = field.kind;
    value.text = "some 4711";
    value.integer = 4711;
    value.number = 47e3;  // milliseconds, often: "47 s"
    event.fields.push_back(value);
  }
  return event;
}

TEST(EventLines, SayHowFarTheRunIs) {
  const Event event = make_event("progress", {{"epoch", std::int64_t{2}},
                                              {"step", std::int64_t{20}},
                                              {"samples", std::int64_t{320}},
                                              {"loss", 0.25},
                                              {"learning_rate", 0.05},
                                              {"samples_per_second", 1234.4}});
  EXPECT_EQ(text_of(event), "epoch 2  step 20  loss 0.2500  learning rate 0.05  1234 samples/s");
  EXPECT_FALSE(line_of(event)->always);
}

TEST(EventLines, SayWhoIsLostAndWhatItHeld) {
  const Event event = make_event("lost", {{"replica", std::int64_t{1}},
                                          {"shards", std::string("0-3")},
                                          {"step", std::int64_t{88}},
                                          {"noticed_by", std::string("coordinator")},
                                          {"reason", std::string("its connection is closed")}});
  EXPECT_EQ(text_of(event), "lost: replica 1, shards 0-3, at step 88: its connection is closed");
  EXPECT_TRUE(line_of(event)->always);
}

TEST(EventLines, ALoaderHoldsNoShards) {
  const Event event = make_event("lost", {{"loader", std::int64_t{0}},
                                          {"shards", std::string("-")},
                                          {"step", std::int64_t{1}},
                                          {"noticed_by", std::string("coordinator")},
                                          {"reason", std::string("silent for 1001 ms")}});
  EXPECT_EQ(text_of(event), "lost: loader 0, at step 1: silent for 1001 ms");
}

TEST(EventLines, TheNameOfANodeIsNotSaidTwice) {
  const auto refused = [](const std::string& reason) {
    Event event = make_event("refused", {{"replica", std::int64_t{1}}, {"reason", reason}});
    where(event, "host2", "10.0.0.2");
    return text_of(event);
  };
  EXPECT_EQ(refused("replica 1 on host2 (10.0.0.2) computes other bits"),
            "refused: replica 1 on host2 (10.0.0.2) computes other bits");
  EXPECT_EQ(refused("replica 10 is here"), "refused: replica 1 on host2 (10.0.0.2): replica 10 is here");
}

TEST(EventLines, SayForHowManyNodesARunWaitsAndForHowLong) {
  EXPECT_EQ(
      text_of(make_event("waiting", {{"replicas", std::int64_t{2}},
                                     {"loaders", std::int64_t{1}},
                                     {"patience_ms", 60000.0},
                                     {"patience_times", std::int64_t{10}}})),
      "waits for 2 replicas and 1 loader; fails if none comes for 60 s (10 times cluster.start_patience)");
}

TEST(EventLines, APauseSaysForWhatAndForHowLong) {
  EXPECT_EQ(text_of(make_event("paused", {{"view", std::int64_t{2}},
                                          {"waits_for", std::string("a loader process")},
                                          {"give_up_ms", 600000.0}})),
            "paused: waits up to 10 min for a loader process");
}

TEST(EventLines, CheckpointsThatWerePassedOverAreNamed) {
  EXPECT_EQ(text_of(make_event("resumed", {{"step", std::int64_t{40}},
                                           {"epoch", std::int64_t{2}},
                                           {"path", std::string("k/a.safetensors")},
                                           {"passed_over", std::string("b: it is damaged")}})),
            "resumed after step 40, epoch 2, from k/a.safetensors; passed over: b: it is damaged");
}

TEST(EventLines, EndOfOneShardIsNoNews) {
  EXPECT_FALSE(line_of(make_event("exhausted", {{"scope", std::string("shard")},
                                                {"shard", std::int64_t{3}},
                                                {"epoch", std::int64_t{1}},
                                                {"step", std::int64_t{7}}})));
}

TEST(EventLines, OfEachThatNeedsAPersonThereIsOneAlsoWithQuiet) {
  for (const char* name : {"failed", "interrupted", "notice", "lost", "paused", "heard_again", "restarted",
                           "corrupt", "went_back", "diverged", "state_not_kept", "journal_delayed",
                           "checkpoint_delayed", "checkpoint_failed", "checkpoint_spared"}) {
    const auto& table = event_table();
    const auto spec = std::ranges::find(table, name, &EventSpec::name);
    ASSERT_NE(spec, table.end()) << name << " is no event";
    const auto line = line_of(one_of(*spec));
    ASSERT_TRUE(line) << name;
    EXPECT_TRUE(line->always) << name;
    EXPECT_NE(line->text.find("47"), std::string::npos) << name << " says nothing of it: " << line->text;
  }
}

}  // namespace
}  // namespace muster::cli
