// A schedule that goes on from where another one stood, which may have had another end: what follows is what
// would have followed there anyway.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "actors/rules/steps/round_schedule.hpp"

namespace muster {
namespace {

struct Standing {
  Cursor cursor;
  std::uint64_t steps = 0;
  bool finished = false;
  std::vector<LedgerRow> rows;
};

std::string text_of(const RoundSchedule& schedule) {
  std::ostringstream text;
  text << (schedule.finished() ? "end" : schedule.cursor().mode == Mode::train ? "t" : "e");
  if (!schedule.finished()) text << schedule.cursor().epoch << "." << schedule.cursor().step;
  text << "/" << schedule.steps();
  return text.str();
}

// Moves on by one round of a job whose epochs have `length` steps.
void move(RoundSchedule& schedule, std::uint64_t length, std::vector<LedgerRow>& rows) {
  const Cursor cursor = schedule.cursor();
  if (cursor.mode == Mode::evaluate) return schedule.evaluated();
  const bool ended = cursor.step == length;
  const auto moved = ended ? schedule.all_ended() : schedule.step_committed();
  // As a replica counts: an epoch that is cut exactly at its end is complete.
  if (moved.epoch_ended) rows.push_back({cursor.epoch, ended || cursor.step + 1 == length, 0, 0, 0, 0});
}

std::vector<Standing> places_of(const RoundScheduleOptions& options, std::uint64_t length,
                                std::vector<std::string>* texts) {
  std::vector<Standing> places;
  RoundSchedule schedule(options);
  std::vector<LedgerRow> rows;
  for (int moves = 0; moves < 100; ++moves) {
    places.push_back({schedule.cursor(), schedule.steps(), schedule.finished(), rows});
    if (texts) texts->push_back(text_of(schedule));
    if (schedule.finished()) break;
    move(schedule, length, rows);
  }
  return places;
}

std::vector<RoundScheduleOptions> all_ends(bool evaluate) {
  std::vector<RoundScheduleOptions> ends;
  for (std::uint64_t passes = 1; passes <= 3; ++passes) ends.push_back({std::nullopt, passes, evaluate});
  for (std::uint64_t steps = 1; steps <= 7; ++steps) ends.push_back({steps, 0, evaluate});
  ends.push_back({5, 2, evaluate});
  return ends;
}

TEST(RoundScheduleResume, GoesTheWayThatItWouldHaveGone) {
  std::uint64_t taken = 0, refused = 0;
  for (const bool evaluate : {false, true}) {
    for (const RoundScheduleOptions& given_up : all_ends(evaluate)) {
      for (const RoundScheduleOptions& asked : all_ends(evaluate)) {
        std::vector<std::string> undisturbed;
        places_of(asked, 3, &undisturbed);
        for (const Standing& place : places_of(given_up, 3, nullptr)) {
          RoundSchedule schedule(asked);
          if (!schedule.resume(place.cursor, place.steps, place.finished, place.rows).empty()) {
            ++refused;
            EXPECT_EQ(text_of(schedule), "t1.0/0");  // nothing was changed
            continue;
          }
          ++taken;
          std::vector<LedgerRow> rows = place.rows;
          for (int moves = 0; moves < 100; ++moves) {
            EXPECT_NE(std::find(undisturbed.begin(), undisturbed.end(), text_of(schedule)), undisturbed.end())
                << text_of(schedule) << " asked " << asked.passes << " " << asked.steps.value_or(0);
            if (schedule.finished()) break;
            move(schedule, 3, rows);
          }
          EXPECT_EQ(text_of(schedule), undisturbed.back());
        }
      }
    }
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 300u);
}

TEST(RoundScheduleResume, WithTheSameEndEveryPlaceIsTaken) {
  for (const bool evaluate : {false, true}) {
    for (const RoundScheduleOptions& options : all_ends(evaluate)) {
      for (const Standing& place : places_of(options, 3, nullptr)) {
        RoundSchedule schedule(options);
        EXPECT_EQ(schedule.resume(place.cursor, place.steps, place.finished, place.rows), "");
        EXPECT_EQ(schedule.cursor(), place.cursor);
        EXPECT_EQ(schedule.steps(), place.steps);
        EXPECT_EQ(schedule.finished(), place.finished);
      }
    }
  }
}

TEST(RoundScheduleResume, AnEpochWithoutASingleStepStaysTheEnd) {
  RoundSchedule schedule({std::nullopt, 5, false});
  EXPECT_EQ(schedule.resume({Mode::train, 2, 0}, 3, true, {{1, true, 0, 0, 0, 0}, {2, true, 0, 0, 0, 0}}),
            "");
  EXPECT_TRUE(schedule.finished());
}

}  // namespace
}  // namespace muster
