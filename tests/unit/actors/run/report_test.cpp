#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "actors/events/event.hpp"
#include "muster/error.hpp"
#include "muster/report.hpp"

namespace muster {
namespace {

using Json = nlohmann::json;

Event event_of(const std::string& text) {
  return make_event("notice", {{"text", text}});
}

Report full_report() {
  Report report;
  report.job = "fashion-mnist";
  report.outcome = "completed";
  report.replicas = 2;
  report.shards = 8;
  report.steps = 938;
  report.samples = 120000;
  report.weights_sha256 = std::string(64, 'a');
  EpochEnd epoch;
  epoch.epoch = 1;
  epoch.complete = true;
  epoch.used = 60000;
  epoch.evaluated = true;
  epoch.loss = 0.41;
  epoch.accuracy = 0.853;
  report.epochs.push_back(epoch);
  epoch.epoch = 2;
  epoch.evaluated = false;
  report.epochs.push_back(epoch);
  report.phases[0] = {0.1, 0.2, 0.3, 0.4, 0.5};
  report.phases[1] = {};
  report.algorithm = "hierarchical";
  report.traffic[0] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  report.add(event_of("hello"));
  return report;
}

TEST(Report, HasTheKeysOfItsSchema) {
  const Json json = Json::parse(to_json(full_report()));
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["job"], "fashion-mnist");
  EXPECT_EQ(json["outcome"], "completed");
  EXPECT_EQ(json["reason"], "");
  EXPECT_EQ(json["replicas"], 2);
  EXPECT_EQ(json["shards"], 8);
  EXPECT_EQ(json["steps"], 938);
  EXPECT_EQ(json["samples"], 120000);
  EXPECT_EQ(json["weights_sha256"], std::string(64, 'a'));
  EXPECT_EQ(json["ledger"][0],
            Json::parse(R"({"epoch": 1, "complete": true, "used": 60000, "repeated": 0, "missed": 0,
                                               "dropped": 0})"));
  EXPECT_EQ(json["ledger"].size(), 2u);
  ASSERT_EQ(json["evaluation"].size(), 1u) << "an epoch that was not evaluated has no row";
  EXPECT_EQ(json["evaluation"][0], Json::parse(R"({"epoch": 1, "loss": 0.41, "accuracy": 0.853})"));
  for (const char* key : {"samples_per_second", "wall_seconds"}) EXPECT_TRUE(json[key].is_number()) << key;
  ASSERT_EQ(json["phases"].size(), 2u);
  for (const char* key : {"wait_for_batch_s", "compute_s", "reduce_s", "update_s"}) {
    EXPECT_TRUE(json["phases"][0][key].is_number()) << key;
  }
  EXPECT_EQ(json["phases"][1]["replica"], 1);
  EXPECT_EQ(json["algorithm"], "hierarchical");
  EXPECT_EQ(json["traffic"], Json::parse(R"([{"replica": 0,
      "within_host": {"frames": 1, "payload_bytes": 2, "metadata_bytes": 3, "other_bytes": 4},
      "between_hosts": {"frames": 5, "payload_bytes": 6, "metadata_bytes": 7, "other_bytes": 8}}])"));
  EXPECT_EQ(json["events"][0]["event"], "notice");
  EXPECT_EQ(json["event_counts"]["notice"], 1);
}

TEST(Report, ItsEventsHaveTheTimeOfDay) {
  Report report;
  Event event = make_event("notice", {{"text", std::string("something")}});
  event.time_ms = 1500;
  report.add(event);
  EXPECT_FALSE(Json::parse(to_json(report))["events"][0].contains("time")) << "no coordinator has begun";
  report.began = std::chrono::system_clock::time_point(std::chrono::seconds(1764283995));
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json["began"], "2025-11-27T22:53:15.000Z");
  EXPECT_EQ(json["events"][0]["time"], "2025-11-27T22:53:16.500Z");
}

// What ended the run comes last.
TEST(Report, HoldsTheFirstAndTheLastFiveHundredEventsAndCountsAll) {
  for (const int count : {0, 999, 1000, 1001, 2500}) {
    Report report;
    for (int i = 0; i < count; ++i) report.add(event_of("event " + std::to_string(i)));
    const Json json = Json::parse(to_json(report));
    const auto& events = json.at("events");
    ASSERT_EQ(events.size(), std::min(count, 1000));
    for (int i = 0; i < static_cast<int>(events.size()); ++i) {
      const int number = i < 500 || count <= 1000 ? i : count - 1000 + i;
      ASSERT_EQ(events[static_cast<std::size_t>(i)].at("text"), "event " + std::to_string(number)) << count;
    }
    EXPECT_EQ(json.at("event_counts").value("notice", 0), count);
  }
}

TEST(Report, AnythingThatWasNotSetIsAFailure) {
  EXPECT_EQ(Report{}.outcome, "failed");
  EXPECT_FALSE(Report{}.completed());
}

TEST(Report, TextThatIsNoUtf8DoesNotHurt) {
  Report report;
  report.reason = "\xff\xfe";
  EXPECT_TRUE(Json::parse(to_json(report), nullptr, false).is_object());
}

TEST(Report, IsWrittenWholeOrNotAtAll) {
  const std::string folder = ::testing::TempDir() + "muster-report-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/report.json";
  write_report(full_report(), file);
  std::ifstream stream(file);
  EXPECT_EQ(Json::parse(stream)["steps"], 938);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "something else was left";
  try {
    write_report(full_report(), folder + "/none/report.json");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No such file or directory"), std::string::npos) << error.what();
  }
  const std::string link = folder + "/link";
  std::filesystem::create_symlink(file, link);
  write_report(full_report(), link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  const int reader = ::open((folder + "/pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_report(full_report(), folder + "/pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(folder + "/pipe"));
  char first = 0;
  EXPECT_EQ(::read(reader, &first, 1), 1);
  ::close(reader);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
