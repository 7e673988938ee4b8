#include "muster/actors/contract/call_note.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "muster/actors/contract/noted.hpp"
#include "muster/actors/registry.hpp"
#include "muster/config/error.hpp"
#include "tests/support/broken_parts.hpp"

namespace muster {
namespace {

TEST(CallNote, SaysWhatIsUnderWay) {
  const auto note = CallNote::create();
  EXPECT_FALSE(note->current());
  std::uint64_t first = 0;
  {
    const CallNote::Scope scope(note.get(), "read(7)");
    ASSERT_TRUE(note->current());
    EXPECT_EQ(note->current()->what, "read(7)");
    first = note->current()->number;
  }
  EXPECT_FALSE(note->current());
  const CallNote::Scope scope(note.get(), "read(7)");
  EXPECT_GT(note->current()->number, first) << "another call with the same text";
}

TEST(CallNote, TextsThatAreTooLongAreCut) {
  const auto note = CallNote::create();
  const CallNote::Scope scope(note.get(), std::string(5000, 'x'));
  EXPECT_EQ(note->current()->what, std::string(500, 'x'));
}

TEST(CallNote, OutlivesTheProcessThatWroteIt) {
  const auto note = CallNote::create();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto same = CallNote::open(::dup(note->descriptor()));
    const CallNote::Scope scope(same.get(), "gradient() of model 'x'");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(note->current());
  EXPECT_EQ(note->current()->what, "gradient() of model 'x'");
}

TEST(CallNote, OfARegistryNamesCallsAndOtherExceptions) {
  const auto note = CallNote::create();
  Registry registry;
  registry.add_source("sums", {}, [](const Options&) {
    return Dataset{std::make_unique<broken::Sums>("read-throw-number", 10), nullptr};
  });
  registry.note_calls(note);
  const Dataset data = registry.make_source("sums", {});
  ASSERT_NE(data.train->indexed(), nullptr);
  try {
    data.train->indexed()->read(3, {});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "read(3) of source 'sums' throws something that is no std::exception");
  }
  EXPECT_FALSE(note->current());
}

}  // namespace
}  // namespace muster
