// Newcomers, where the disk of the journal writes every entry, and answers none in time.
#include <gtest/gtest.h>

#include "actors/coordinator/records/bounded_journal.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/idle_nodes.hpp"
#include "tests/support/slow_disk.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

// Used by the thread of the bounded one alone, until that has ended.
class PlainJournal final : public Journal {
 public:
  std::optional<JournalEntry> read() override { return entry; }
  void write(const JournalEntry& written) override {
    gate.pass();
    entry = written;
    numbers.push_back(written.free.replica);
  }

  testing::Gate gate;
  std::optional<JournalEntry> entry;
  std::vector<std::uint32_t> numbers;  // that were free, by entry
};

// Two replicas train, and make a step between any two tries.
class SlowJournalTest : public PartTest {
 protected:
  SlowJournalTest() : PartTest(std::make_unique<RunningJob>(2)) {
    port_.nodes = {kReplica0, kReplica1};
    job_.run.setup.journal = std::make_shared<BoundedJournal>(
        there_, "the file", BoundedJournal::Waits{milliseconds(0), milliseconds(0), milliseconds(300'000)});
  }
  ~SlowJournalTest() override { there_->gate.open(); }
  void first_is_refused() {
    EXPECT_FALSE(joins());
    EXPECT_TRUE(connections_.answers.at(0).again);
  }
  // One that joins again when it is refused. The disk answers nothing meanwhile.
  bool joins() {
    connections_.caller = nodes_.add();
    Join join = join_of({false, 77});
    join.joins = true;
    const std::size_t before = port_.nodes.size();
    ++job_.run.report.steps;
    there_->gate.close();
    arrivals_.on(join);
    there_->gate.open();
    return port_.nodes.size() > before;
  }
  // All entries are written when the journal has ended.
  const PlainJournal& ended() {
    job_.run.setup.journal.reset();
    return *there_;
  }

  const std::shared_ptr<PlainJournal> there_ = std::make_shared<PlainJournal>();
  testing::IdleNodes nodes_;
};

TEST_F(SlowJournalTest, ANewcomerIsTakenInInTheEnd) {
  first_is_refused();
  testing::try_again_until([this] { return joins(); });
  EXPECT_TRUE(port_.nodes.contains(kReplica2)) << "whoever was refused took no number";
  EXPECT_GE(ended().entry->free.replica, 3u);
}

TEST_F(SlowJournalTest, ManyNewcomersWaitForFewEntries) {
  constexpr std::size_t kMany = 12;
  first_is_refused();
  for (std::size_t i = 0; i < kMany; ++i) testing::try_again_until([this] { return joins(); });
  EXPECT_EQ(port_.nodes.size(), 2 + kMany);
  EXPECT_LT(ended().numbers.size(), kMany / 2);
  EXPECT_GE(ended().entry->free.replica, 2 + kMany);
}

// One of these numbers may have been given.
TEST_F(SlowJournalTest, NoLaterEntryHasFewerNumbers) {
  first_is_refused();
  testing::try_again_until([this] { return job_.run.setup.journal->numbers_there().replica > 2; });
  try {
    keeper_.note(job_.run.view);
  } catch (const Error&) {
    // It is written nevertheless.
  }
  EXPECT_TRUE(joins()) << "its number is there";
  for (const std::uint32_t free : ended().numbers) EXPECT_GE(free, 3u);
}

}  // namespace
}  // namespace muster
