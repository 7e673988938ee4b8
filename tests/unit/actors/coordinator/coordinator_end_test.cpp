// How a coordinator ends that knows of checkpoints with wrong results.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <stdexcept>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "muster/run.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

const std::string kJobHash(64, 'a');

// Until another coordinator takes it over.
struct OneJournal final : Journal {
  std::optional<JournalEntry> read() override { return entry; }
  void write(const JournalEntry& written) override {
    if (taken) throw TakenOver("another coordinator has taken this run over");
    refuse_usurped(written, entry, "memory");
    if (full) throw Error("the disk is full");
    entry = written;
    if (fails_late) throw Error("the folder cannot be synchronized");
  }
  std::optional<JournalEntry> entry;
  bool taken = false, full = false, fails_late = false;
};

Snapshot snapshot_at(std::uint64_t step) {
  Snapshot snapshot;
  snapshot.history = 1;
  snapshot.place.records = snapshot.place.steps = step;
  snapshot.place.cursor = {Mode::train, 1, step};
  snapshot.state.assign(4, static_cast<float>(step));
  return snapshot;
}

caf::behavior hears_all(caf::event_based_actor* self, int* stops) {
  self->set_default_handler([](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
    return caf::delegated<caf::message>{};
  });
  return {[=](const Stop&) { ++*stops; }};
}

// Started again with a journal that suspects all steps from 50 on; two members of its view have come back.
class EndOfACoordinator : public ::testing::Test {
 protected:
  EndOfACoordinator() : store_(disk_, testing::tiny_identity(kJobHash)) {
    View view;
    view.number = 3;
    view.term = 1;
    view.history = 1;
    view.records = 6;
    for (std::uint32_t slot = 0; slot < 2; ++slot)
      view.replicas.push_back({.name = {false, slot},
                               .incarnation = slot + 1,
                               .address = "x",
                               .begin = slot,
                               .end = slot + 1,
                               .clean = 4,
                               .holds_of = {}});
    journal_->entry = JournalEntry{kJobHash, 1, view, {2, 0}};
    journal_->entry->suspect_from = 50;
    store_.save(snapshot_at(4), 100);
    coordinator_ = system_.spawn(coordinator, setup());
    for (auto& node : nodes_) node = system_.spawn(hears_all, &stops_);
    run();
    for (std::uint32_t slot = 0; slot < 2; ++slot) come_back(slot, view);
  }
  ~EndOfACoordinator() override {
    for (auto& node : nodes_) caf::anon_send_exit(node, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator_, caf::exit_reason::kill);
    run();
  }

  CoordinatorSetup setup() {
    CoordinatorSetup setup;
    setup.job.name = "tiny";
    setup.job.train.shards = 2;
    setup.job.cluster.replicas = 2;
    setup.job_hash = kJobHash;
    setup.placement.devices = {"cpu:0", "cpu:1"};
    setup.by_hand = true;
    setup.journal = journal_;
    setup.checkpoints = disk_;
    setup.on_event = [this](const Event& event) {
      throws_ = event.name == throws_at_ || (throws_ && throws_always_);
      if (throws_) throw std::runtime_error("an observer's error");
    };
    setup.on_conclude = [this] { ++concluded_; };
    setup.on_end = [this](const Report& report) { reports_.push_back(report); };
    return setup;
  }
  void come_back(std::uint32_t slot, const View& view) {
    Adopt adopt;
    adopt.join.protocol = kProtocolVersion;
    adopt.join.name = {false, slot};
    adopt.join.incarnation = slot + 1;
    adopt.join.joins = true;
    adopt.prepared.name = adopt.join.name;
    adopt.prepared.address = "x";
    adopt.prepared.elements = 4;
    adopt.prepared.loads = true;
    adopt.term = 1;
    adopt.view = view;
    adopt.begun = true;
    adopt.job_hash = kJobHash;
    adopt.free = {2, 0};
    say(nodes_[slot], caf::make_message(std::move(adopt)));
  }
  void say(const caf::actor& from, caf::message message) {
    caf::actor_cast<caf::strong_actor_ptr>(coordinator_)
        ->get()
        ->eq_impl(caf::make_message_id(), caf::actor_cast<caf::strong_actor_ptr>(from), nullptr,
                  std::move(message));
    run();
  }
  void ask_to_end() { say(nodes_[0], caf::make_message(StopRequest{"SIGTERM"})); }
  void one_joins() {
    Join join;
    join.protocol = kProtocolVersion;
    join.incarnation = 99;
    join.joins = true;
    say(nodes_[2], caf::make_message(join));
  }
  void run() {
    while (scheduler_.try_run_once()) {
    }
  }
  void pass(std::chrono::milliseconds time) {
    for (auto passed = 0ms; passed < time; passed += 10ms) {
      scheduler_.advance_time(10ms);
      run();
    }
  }
  bool is_there(const SavedCheckpoint& saved) { return disk_->holds(saved.manifest); }

  struct Config : caf::actor_system_config {
    Config() {
      configure(*this);
      set("scheduler.policy", caf::atom("testing"));
    }
  };
  Config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  CheckpointStore store_;
  std::shared_ptr<OneJournal> journal_ = std::make_shared<OneJournal>();
  std::string throws_at_;
  bool throws_ = false, throws_always_ = false;
  int stops_ = 0;
  coordinator_actor coordinator_;
  std::array<caf::actor, 3> nodes_;
  std::vector<Report> reports_;
  int concluded_ = 0;
};

TEST_F(EndOfACoordinator, SetsAsideWhatIsWrittenUntilItsEnd) {
  ask_to_end();
  EXPECT_EQ(concluded_, 1);
  EXPECT_TRUE(reports_.empty()) << "it waits for who writes";
  const auto saved = store_.save(snapshot_at(60), 100);
  pass(3s);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_.front().outcome, "interrupted");
  EXPECT_FALSE(is_there(saved));
  EXPECT_EQ(concluded_, 1);
}

// It hears of that when it is to end, or from its journal, when a node joins.
TEST_F(EndOfACoordinator, OneThatWasTakenOverTouchesNoCheckpointOfTheOther) {
  journal_->taken = true;
  const auto saved = store_.save(snapshot_at(60), 100);
  ask_to_end();
  pass(3s);
  EXPECT_EQ(reports_.size(), 1u);
  EXPECT_TRUE(is_there(saved));
  EXPECT_EQ(stops_, 0) << "they are members of the other one";
}

// Both have read the same term; the disk took the entry of the other one first.
TEST_F(EndOfACoordinator, OneThatWaitsForItsDiskIsTakenOverByOneOfItsOwnTerm) {
  const auto journal = std::make_shared<OneJournal>(*journal_);
  const std::uint64_t before = journal->entry->term;
  journal->full = true;
  CoordinatorSetup of_another = setup();
  of_another.journal = journal;
  const coordinator_actor waits = system_.spawn(coordinator, std::move(of_another));
  run();
  EXPECT_TRUE(reports_.empty()) << "it tries again";
  journal->entry->term = before + 1;
  journal->full = false;
  pass(300ms);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_.front().reason.find("has taken this run over"), std::string::npos);
  caf::anon_send_exit(waits, caf::exit_reason::kill);
}

// What it wrote is there, though the disk said that it is not.
TEST_F(EndOfACoordinator, IsNotTakenOverByItself) {
  const auto journal = std::make_shared<OneJournal>(*journal_);
  journal->fails_late = true;
  CoordinatorSetup of_another = setup();
  of_another.journal = journal;
  const coordinator_actor waits = system_.spawn(coordinator, std::move(of_another));
  pass(300ms);
  EXPECT_TRUE(reports_.empty()) << "it tries again";
  journal->fails_late = false;
  pass(3s);
  EXPECT_TRUE(reports_.empty());
  caf::anon_send_exit(waits, caf::exit_reason::kill);
}

TEST_F(EndOfACoordinator, NorWhenItHearsOfThatFromItsJournalFirst) {
  const auto saved = store_.save(snapshot_at(60), 100);
  journal_->taken = true;
  one_joins();
  ASSERT_EQ(reports_.size(), 1u) << "at once";
  EXPECT_EQ(reports_.front().outcome, "failed");
  EXPECT_TRUE(is_there(saved));
}

TEST_F(EndOfACoordinator, IsNoVerdictForMembersThatWereNotHeardAtTheEnd) {
  ask_to_end();
  pass(3s);  // both live, and say nothing
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_FALSE(journal_->entry->ended);
}

// Their link may have been cut a moment before: only who goes has heard it.
TEST_F(EndOfACoordinator, IsAVerdictWhenAllHaveHeardItAndGone) {
  ask_to_end();
  EXPECT_FALSE(journal_->entry->ended);
  caf::anon_send_exit(nodes_[0], caf::exit_reason::kill);
  run();
  EXPECT_FALSE(journal_->entry->ended);
  EXPECT_TRUE(reports_.empty());
  caf::anon_send_exit(nodes_[1], caf::exit_reason::kill);
  run();
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_TRUE(journal_->entry->ended);
}

TEST_F(EndOfACoordinator, ComesAlsoAfterAnError) {
  throws_at_ = "interrupted";
  ask_to_end();
  pass(3s);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_.front().outcome, "failed");
  EXPECT_NE(reports_.front().reason.find("an observer's error"), std::string::npos);
}

TEST_F(EndOfACoordinator, ComesAlsoIfAnObserverFailsAtEachEvent) {
  throws_at_ = "interrupted";
  throws_always_ = true;
  ask_to_end();
  pass(3s);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_.front().outcome, "failed");
}

TEST_F(EndOfACoordinator, NoVerdictBecomesOneLater) {
  pass(2s);  // out of touch
  ask_to_end();
  for (auto& node : nodes_) caf::anon_send_exit(node, caf::exit_reason::kill);  // now nobody is left to tell
  pass(3s);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_FALSE(journal_->entry->ended);
}

}  // namespace
}  // namespace muster
