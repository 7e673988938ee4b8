#include "actors/user_calls/call_note.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "actors/user_calls/exit_guard.hpp"
#include "actors/user_calls/noted.hpp"
#include "actors/user_calls/watched_registry.hpp"
#include "muster/error.hpp"
#include "muster/job.hpp"
#include "muster/registry.hpp"
#include "tests/support/broken_parts.hpp"

namespace muster {
namespace {

const CallText kRead("read(\1)"), kGradient("gradient() (step \1, shard \2)");

TEST(CallNote, SaysWhatIsUnderWay) {
  const auto note = CallNote::create();
  EXPECT_TRUE(note->current().empty());
  std::uint64_t first = 0;
  {
    const CallNote::Scope scope(note.get(), UserCode::source, kRead, 7);
    ASSERT_EQ(note->current().size(), 1u);
    EXPECT_EQ(note->current()[0].what, "read(7)");
    first = note->current()[0].number;
  }
  EXPECT_TRUE(note->current().empty());
  const CallNote::Scope scope(note.get(), UserCode::source, kRead, 8);
  EXPECT_EQ(note->current()[0].what, "read(8)") << "of the same text with another number";
  EXPECT_GT(note->current()[0].number, first);
}

TEST(CallNote, HasOneOfEachKind) {
  const auto note = CallNote::create();
  const CallNote::Scope source(note.get(), UserCode::source, kRead, 7);
  const CallNote::Scope model(note.get(), UserCode::model, kGradient, 12, 3);
  EXPECT_EQ(text_of(note->current()), "gradient() (step 12, shard 3) and read(7)");
}

TEST(CallNote, OtherTextsReplaceTheLastOne) {
  const auto note = CallNote::create();
  for (int i = 0; i < 3; ++i) {
    const CallText text("call " + std::string(static_cast<std::size_t>(i), '+'));
    const CallNote::Scope scope(note.get(), UserCode::model, text);
    EXPECT_EQ(note->current()[0].what, text.text()) << "though it may lie where the last one lay";
  }
}

TEST(CallNote, TextsThatAreTooLongAreCut) {
  const auto note = CallNote::create();
  const CallText text(std::string(5000, 'x'));
  const CallNote::Scope scope(note.get(), UserCode::model, text);
  EXPECT_EQ(note->current()[0].what, std::string(400, 'x'));
}

TEST(CallNote, NoLetterIsCut) {
  const auto note = CallNote::create();
  const CallText text(std::string(399, 'x') + "\u00fc" + "y");
  const CallNote::Scope scope(note.get(), UserCode::model, text);
  EXPECT_EQ(note->current()[0].what, std::string(399, 'x'));
}

TEST(CallNote, CountsCallsAndLeavesPercentSignsInNames) {
  const auto note = CallNote::create();
  EXPECT_EQ(note->calls(), 0u);
  const CallNote::Scope model(note.get(), UserCode::model, CallText("making '100%1'"), 7);
  const CallNote::Scope source(note.get(), UserCode::source, kRead, 7);
  EXPECT_EQ(note->calls(), 2u);
  EXPECT_EQ(note->current()[0].what, "making '100%1'");
}

TEST(CallNote, OutlivesTheProcessThatWroteIt) {
  const auto note = CallNote::create();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto same = CallNote::open(::dup(note->descriptor()));
    const CallNote::Scope scope(same.get(), UserCode::model, kGradient, 12, 3);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(text_of(note->current()), "gradient() (step 12, shard 3)");
}

TEST(CallNote, OfARegistryNamesTheCallThatThrows) {
  const auto note = CallNote::create();
  for (const auto& [flaw, said] :
       {std::pair("read-throw-number", " throws something that is no std::exception"),
        std::pair("read-throw", ": stof")}) {
    Registry registry;
    registry.add_source("sums", {}, [flaw = flaw](const Options&) {
      return Dataset{std::make_unique<broken::Sums>(flaw, 10), nullptr};
    });
    WatchedRegistry::note_calls(registry, note);
    const Dataset data = registry.make_source("sums", {});
    ASSERT_NE(data.train->indexed(), nullptr);
    try {
      data.train->indexed()->read(5, {});
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), std::string("read(5) of source 'sums'") + said);
    }
    EXPECT_TRUE(note->current().empty());
  }
}

TEST(CallNote, AFactoryThatThrowsIsAboutItsKey) {
  Registry registry;
  registry.add_source("sums", {}, [](const Options&) {
    return Dataset{std::make_unique<broken::Sums>("make-throw", 10), nullptr};
  });
  WatchedRegistry::guard_calls(registry);
  try {
    registry.make_source("sums", {});
    FAIL() << "nothing was thrown";
  } catch (const JobError& error) {
    EXPECT_EQ(error.key(), "data.source");
    EXPECT_STREQ(error.what(), "making source 'sums': stof");
  }
}

TEST(CallNote, FieldsAndLayoutThatThrowAreAboutTheirKeys) {
  Registry registry;
  registry.add_source("sums", {}, [](const Options&) {
    return Dataset{std::make_unique<broken::Sums>("", 10),
                   std::make_unique<broken::Sums>("fields-throw", 10)};
  });
  registry.add_model("regression", {}, [](const Options&, const ModelContext&) {
    return std::make_unique<broken::Regression>("layout-throw", 2);
  });
  WatchedRegistry::note_calls(registry, CallNote::create());
  const auto said = [](const auto& make) {
    try {
      make();
    } catch (const JobError& error) {
      return error.key() + ": " + error.what();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(said([&] { registry.make_source("sums", {}); }),
            "data.source: fields() of source 'sums': no header line");
  ModelConfig model;
  model.name = "regression";
  EXPECT_EQ(said([&] { registry.make_model(model, {}); }),
            "model.name: layout() of model 'regression': no table of layers");
}

TEST(ExitGuardDeathTest, AProgramThatEndsInACallSaysSoAndDoesNotSucceed) {
  const auto call = [](auto&& end) {
    const ExitGuard outer(kRead, 7);
    {
      const ExitGuard guard(kGradient, 12, 3);
      end();
    }
  };
  const char* const said = "the program called exit\\(\\) in gradient\\(\\) \\(step 12, shard 3\\)";
  EXPECT_EXIT(call([] { std::exit(0); }), ::testing::ExitedWithCode(1), said);
  EXPECT_EXIT(call([] { std::exit(3); }), ::testing::ExitedWithCode(1), said);
  EXPECT_EXIT(call([] { std::quick_exit(0); }), ::testing::ExitedWithCode(1), said);
  const auto after = [&] {
    call([] {});
    std::exit(0);
  };
  EXPECT_EXIT(after(), ::testing::ExitedWithCode(0), "");
  const auto elsewhere = [] {  // this thread ends the process as it should, while a call is under way
    const ExitGuard guard(kRead, 7);
    std::thread([] { std::exit(0); }).join();
  };
  EXPECT_EXIT(elsewhere(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace muster
