// A journal whose disk neither accepts nor refuses an entry.
#include "actors/coordinator/records/bounded_journal.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/gate.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{1};
constexpr milliseconds kLong{300'000};  // longer than any test is allowed to run

// Each call stands at a gate first. The test looks at it while no call is under way.
class GatedJournal final : public Journal {
 public:
  std::optional<JournalEntry> read() override {
    gate.pass();
    return entry;
  }
  void write(const JournalEntry& written) override {
    gate.pass();
    refuse_usurped(written, entry, "memory");
    if (full) throw Error("the disk is full");
    views.push_back(written.view.number);
    entry = written;
  }

  testing::Gate gate;
  std::optional<JournalEntry> entry;
  std::vector<std::uint32_t> views;  // of the entries that were written
  bool full = false;
};

class BoundedJournalTest : public ::testing::Test {
 protected:
  ~BoundedJournalTest() override { there_->gate.open(); }

  // A test that opens the gate waits for all entries by ending the journal.
  void make(milliseconds answer, milliseconds parting = kLong) {
    journal_ =
        std::make_unique<BoundedJournal>(there_, "the file", BoundedJournal::Waits{answer, answer, parting});
  }
  static JournalEntry of_view(std::uint32_t number, std::uint64_t term = 1) {
    JournalEntry entry;
    entry.term = term;
    entry.view.number = number;
    return entry;
  }
  // What is said of an entry; empty if it was written.
  std::string refusal_of(const JournalEntry& entry) {
    try {
      journal_->write(entry);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  // Writes the entry until the disk, whose gate is open, has answered.
  void write_until_answered(const JournalEntry& entry) {
    while (refusal_of(entry).find("has not answered") != std::string::npos) {
    }
  }

  const std::shared_ptr<GatedJournal> there_ = std::make_shared<GatedJournal>();
  std::unique_ptr<BoundedJournal> journal_;
};

TEST_F(BoundedJournalTest, ADiskThatAnswersIsAsItWas) {
  make(kLong);
  EXPECT_FALSE(journal_->read());
  EXPECT_EQ(refusal_of(of_view(1)), "");
  EXPECT_EQ(journal_->read()->view.number, 1u);
  there_->full = true;
  EXPECT_EQ(refusal_of(of_view(2)), "the disk is full");
  there_->entry->term = 7;
  EXPECT_THROW(journal_->write(of_view(3)), TakenOver);
}

TEST_F(BoundedJournalTest, AnEntryThatIsNotAnsweredIsRefusedAndNamesTheFile) {
  there_->gate.close();
  make(kShort);
  const std::string said = refusal_of(of_view(1));
  EXPECT_NE(said.find("the disk of the journal the file has not answered for"), std::string::npos) << said;
  there_->gate.await_someone();
  EXPECT_NE(refusal_of(of_view(1)).find("has not answered"), std::string::npos);
}

TEST_F(BoundedJournalTest, AReadThatIsNotAnsweredIsRefused) {
  there_->gate.close();
  make(kShort);
  EXPECT_THROW(journal_->read(), Error);
  EXPECT_THROW(journal_->read(), Error);
}

TEST_F(BoundedJournalTest, TheFirstReadIsWaitedForLonger) {
  journal_ = std::make_unique<BoundedJournal>(there_, "the file",
                                              BoundedJournal::Waits{.first = kLong, .answer = kShort});
  there_->gate.close();
  std::thread opens([this] {
    there_->gate.await_someone();
    there_->gate.open();
  });
  EXPECT_NO_THROW(journal_->read());
  opens.join();
  there_->gate.close();
  EXPECT_THROW(journal_->read(), Error);
}

TEST_F(BoundedJournalTest, TheNewestEntryFollowsTheOneUnderWay) {
  there_->gate.close();
  make(kShort);
  refusal_of(of_view(1));
  there_->gate.await_someone();
  for (const std::uint32_t view : {2u, 3u}) refusal_of(of_view(view));
  there_->gate.open();
  journal_.reset();
  EXPECT_EQ(there_->views, (std::vector<std::uint32_t>{1, 3}));
}

// Else a disk that takes longer each time would never have it.
TEST_F(BoundedJournalTest, AnEntryThatWasWrittenLateIsNotWrittenAgain) {
  there_->gate.close();
  make(kShort);
  for (int tries = 0; tries < 3; ++tries) refusal_of(of_view(1));
  there_->gate.open();
  write_until_answered(of_view(1));
  journal_.reset();
  EXPECT_EQ(there_->views, (std::vector<std::uint32_t>{1}));
}

TEST_F(BoundedJournalTest, AnEntryThatSucceedsIsBehindThoseThatWereLate) {
  there_->gate.close();
  make(kShort);
  refusal_of(of_view(1));
  refusal_of(of_view(2));
  there_->gate.open();
  write_until_answered(of_view(3));
  EXPECT_EQ(there_->views.back(), 3u);
  journal_.reset();
  EXPECT_EQ(there_->views.back(), 3u);
}

TEST_F(BoundedJournalTest, WhatTheDiskRefusesLateIsWrittenAgain) {
  there_->gate.close();
  make(kShort);
  refusal_of(of_view(1));
  there_->full = true;
  there_->gate.open();
  while (refusal_of(of_view(1)) != "the disk is full") {
  }
  EXPECT_TRUE(there_->views.empty());
}

TEST_F(BoundedJournalTest, WhoIsTakenOverMeanwhileHearsOfIt) {
  there_->entry = of_view(5, 7);
  there_->gate.close();
  make(kShort);
  refusal_of(of_view(1));
  there_->gate.open();
  const auto until_answered = [this] {
    for (;;) {
      try {
        journal_->write(of_view(1));
        return;
      } catch (const TakenOver&) {
        throw;
      } catch (const Error&) {
        // The disk has not answered yet.
      }
    }
  };
  EXPECT_THROW(until_answered(), TakenOver);
}

TEST_F(BoundedJournalTest, ItsEndDoesNotWaitForADiskThatNeverAnswers) {
  there_->gate.close();
  make(kShort, kShort);
  refusal_of(of_view(1));
  journal_.reset();
  EXPECT_TRUE(there_->views.empty());
}

}  // namespace
}  // namespace muster
