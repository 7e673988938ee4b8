#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "actors/events/event.hpp"

namespace muster {
namespace {

TEST(Event, EveryOneSaysWhatWhenAndByWhom) {
  std::set<std::string> names;
  for (const EventSpec& spec : event_table()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " stands twice";
    EXPECT_FALSE(spec.meaning.empty()) << spec.name;
    EXPECT_FALSE(spec.when.empty()) << spec.name;
    EXPECT_FALSE(spec.by.empty()) << spec.name;
    EXPECT_EQ(find_event(spec.name), &spec);
    std::set<std::string> keys{"event", "time_ms"};
    for (const EventFieldSpec& field : spec.fields) {
      EXPECT_TRUE(keys.insert(field.key).second) << spec.name << " has " << field.key << " twice";
      EXPECT_LE(field.kind, 3) << spec.name;
      EXPECT_FALSE(field.meaning.empty()) << spec.name << ' ' << field.key;
    }
  }
  EXPECT_EQ(find_event("no such event"), nullptr);
}

TEST(Event, TheOnesThatUsersRelyOnAreThere) {
  for (const char* name : {"joined", "left", "lost", "exhausted", "short", "starved", "late", "refused",
                           "failed", "completed", "interrupted"}) {
    EXPECT_NE(find_event(name), nullptr) << name;
  }
}

TEST(Event, PageIsMadeFromTheTable) {
  std::ifstream file(MUSTER_SOURCE_DIR "/docs/reference/events.md", std::ios::binary);
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), events_markdown())
      << "write it anew: muster events --markdown > docs/reference/events.md";
}

TEST(Event, WhatIsNotInTheTableCannotBeBuilt) {
  EXPECT_DEATH(make_event("surprise", {}), "no such event");
  EXPECT_DEATH(make_event("failed", {{"reason", "x"}, {"color", "red"}}), "field not in the table");
  EXPECT_DEATH(make_event("failed", {{"reason", std::int64_t{1}}}), "field not in the table");
  EXPECT_DEATH(make_event("failed", {}), "field is missing");
}

TEST(Event, LineOfJsonKeepsKindsAndOrder) {
  Event event = make_event("epoch", {{"epoch", std::int64_t{2}},
                                     {"complete", true},
                                     {"steps", std::int64_t{-1}},
                                     {"samples", std::int64_t{7}},
                                     {"loss", 0.125},
                                     {"used", std::int64_t{1} << 60},
                                     {"repeated", std::int64_t{0}},
                                     {"missed", std::int64_t{0}},
                                     {"dropped", std::int64_t{0}}});
  event.time_ms = 12.34567;
  EXPECT_EQ(
      to_json_line(event),
      "{\"event\":\"epoch\",\"time_ms\":12.346,\"epoch\":2,\"complete\":true,\"steps\":-1,"
      "\"samples\":7,\"loss\":0.125,\"used\":1152921504606846976,\"repeated\":0,\"missed\":0,\"dropped\":0}");
}

TEST(Event, LineOfJsonIsOneLineWhateverTheText) {
  const Event event = make_event("failed", {{"reason", std::string("a \"b\"\nc\xff\0d", 10)}});
  const std::string line = to_json_line(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
}

TEST(Event, FieldsAreReadByNameAndKind) {
  const Event event =
      make_event("evaluated", {{"epoch", std::int64_t{3}}, {"loss", 0.5}, {"accuracy", 0.25}});
  EXPECT_EQ(event.integer("epoch"), 3);
  EXPECT_EQ(event.number("loss"), 0.5);
  EXPECT_EQ(event.integer("loss"), -1);
  EXPECT_EQ(event.number("epoch", 9.0), 9.0);
  EXPECT_EQ(event.text("epoch"), "");
  EXPECT_TRUE(event.has("accuracy"));
  EXPECT_FALSE(event.has("none"));
}

}  // namespace
}  // namespace muster
