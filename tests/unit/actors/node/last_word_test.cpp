#include "actors/node/last_word.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace muster {
namespace {

const CallText kGradient("gradient() of model 'm' (step \1, shard \2)"), kRead("read(\1) of source 's'");

std::string text_now(const CallNote& note) {
  HandlerText text;
  note.write_current(text);
  return std::string(text.view());
}

TEST(LastWord, ANoteIsWrittenAsItIsRead) {
  const auto note = CallNote::create();
  EXPECT_EQ(text_now(*note), "");
  const CallNote::Scope source(note.get(), UserCode::source, kRead, 7);
  EXPECT_EQ(text_now(*note), "read(7) of source 's'");
  const CallNote::Scope model(note.get(), UserCode::model, kGradient, 12, 3);
  EXPECT_EQ(text_now(*note), text_of(note->current()));
}

void abort_in_a_call(const std::shared_ptr<CallNote>& note) {
  const CallNote::Scope model(note.get(), UserCode::model, kGradient, 12, 3);
  std::abort();
}

TEST(LastWord, NamesTheCallAndEndsTheProcessByItsSignal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto note = CallNote::create();
        const LastWord word(note, "muster join: ");
        abort_in_a_call(note);
      },
      ::testing::KilledBySignal(SIGABRT),
      "muster join: process .* was ended by signal 6 .Aborted. in gradient.. of model 'm' .step 12, shard "
      "3.");
}

TEST(LastWord, IsTakenOnceByAnotherThreadBeforeTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto note = CallNote::create();
        LastWord word(note, "");
        std::thread crashing([] { std::abort(); });
        std::optional<std::string> said;
        while (!said) said = word.take();
        if (word.take() || !said->ends_with("(Aborted)")) ::_exit(1);
        std::fprintf(stderr, "taken: %s\n", said->c_str());
        word.end_if_crashed();
      },
      ::testing::KilledBySignal(SIGABRT), "taken: process .* was ended by signal 6 .Aborted.\n");
}

}  // namespace
}  // namespace muster
