// A course that goes on from where another one stood, which may have had another end: what follows is what
// would have followed there anyway.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "actors/rules/steps/course.hpp"

namespace muster {
namespace {

struct Standing {
  Cursor cursor;
  std::uint64_t steps = 0;
  bool finished = false;
  std::vector<LedgerRow> rows;
};

std::string text_of(const Course& course) {
  std::ostringstream text;
  text << (course.finished() ? "end" : course.cursor().phase == Phase::train ? "t" : "e");
  if (!course.finished()) text << course.cursor().epoch << "." << course.cursor().step;
  text << "/" << course.steps();
  return text.str();
}

// Moves on by one round of a job whose epochs have `length` steps.
void move(Course& course, std::uint64_t length, std::vector<LedgerRow>& rows) {
  const Cursor cursor = course.cursor();
  if (cursor.phase == Phase::evaluate) return course.evaluated();
  const bool ended = cursor.step == length;
  const auto moved = ended ? course.all_ended() : course.step_committed();
  // As a replica counts: an epoch that is cut exactly at its end is complete.
  if (moved.epoch_ended) rows.push_back({cursor.epoch, ended || cursor.step + 1 == length, 0, 0, 0, 0});
}

std::vector<Standing> places_of(const CourseOptions& options, std::uint64_t length,
                                std::vector<std::string>* texts) {
  std::vector<Standing> places;
  Course course(options);
  std::vector<LedgerRow> rows;
  for (int moves = 0; moves < 100; ++moves) {
    places.push_back({course.cursor(), course.steps(), course.finished(), rows});
    if (texts) texts->push_back(text_of(course));
    if (course.finished()) break;
    move(course, length, rows);
  }
  return places;
}

std::vector<CourseOptions> all_ends(bool evaluate) {
  std::vector<CourseOptions> ends;
  for (std::uint64_t passes = 1; passes <= 3; ++passes) ends.push_back({std::nullopt, passes, evaluate});
  for (std::uint64_t steps = 1; steps <= 7; ++steps) ends.push_back({steps, 0, evaluate});
  ends.push_back({5, 2, evaluate});
  return ends;
}

TEST(CourseResume, GoesTheWayThatItWouldHaveGone) {
  std::uint64_t taken = 0, refused = 0;
  for (const bool evaluate : {false, true}) {
    for (const CourseOptions& given_up : all_ends(evaluate)) {
      for (const CourseOptions& asked : all_ends(evaluate)) {
        std::vector<std::string> undisturbed;
        places_of(asked, 3, &undisturbed);
        for (const Standing& place : places_of(given_up, 3, nullptr)) {
          Course course(asked);
          if (!course.resume(place.cursor, place.steps, place.finished, place.rows).empty()) {
            ++refused;
            EXPECT_EQ(text_of(course), "t1.0/0");  // nothing was changed
            continue;
          }
          ++taken;
          std::vector<LedgerRow> rows = place.rows;
          for (int moves = 0; moves < 100; ++moves) {
            EXPECT_NE(std::find(undisturbed.begin(), undisturbed.end(), text_of(course)), undisturbed.end())
                << text_of(course) << " asked " << asked.passes << " " << asked.steps.value_or(0);
            if (course.finished()) break;
            move(course, 3, rows);
          }
          EXPECT_EQ(text_of(course), undisturbed.back());
        }
      }
    }
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 300u);
}

TEST(CourseResume, WithTheSameEndEveryPlaceIsTaken) {
  for (const bool evaluate : {false, true}) {
    for (const CourseOptions& options : all_ends(evaluate)) {
      for (const Standing& place : places_of(options, 3, nullptr)) {
        Course course(options);
        EXPECT_EQ(course.resume(place.cursor, place.steps, place.finished, place.rows), "");
        EXPECT_EQ(course.cursor(), place.cursor);
        EXPECT_EQ(course.steps(), place.steps);
        EXPECT_EQ(course.finished(), place.finished);
      }
    }
  }
}

TEST(CourseResume, AnEpochWithoutASingleStepStaysTheEnd) {
  Course course({std::nullopt, 5, false});
  EXPECT_EQ(course.resume({Phase::train, 2, 0}, 3, true, {{1, true, 0, 0, 0, 0}, {2, true, 0, 0, 0, 0}}), "");
  EXPECT_TRUE(course.finished());
}

}  // namespace
}  // namespace muster
