// What a part of the coordinator is tested on: the facts of a run, ports that write down what the part does,
// and the parts that others are built on. A test of one of these, or of a part above them, adds what it
// needs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/coordinator/views/rollback.hpp"
#include "tests/support/recorded_journal.hpp"
#include "tests/support/recording_ports.hpp"
#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {

using PartTexts = std::vector<std::string>;

class PartTest : public ::testing::Test {
 protected:
  explicit PartTest(std::unique_ptr<CoordinatorFacts> facts) : facts_(std::move(facts)) {}

  /// The run writes the journal.
  void has_a_journal() { job_.run.setup.journal = journal_; }

 private:
  const std::unique_ptr<CoordinatorFacts> facts_;

 protected:
  CoordinatorFacts& job_ = *facts_;
  testing::PartLog log_;
  std::shared_ptr<testing::RecordedJournal> journal_ = std::make_shared<testing::RecordedJournal>(log_);
  testing::RecordingPort port_{log_};
  testing::RecordedConnections connections_{log_, port_};
  testing::RecordedActions actions_{log_};
  CoordinatorPorts ports_{port_, connections_, actions_, actions_};

  JournalKeeper keeper_{job_.run, job_.checkpoints, port_, connections_, actions_};
  SuspectCheckpoints suspects_{job_.run, job_.checkpoints, keeper_, port_};
  Rollback rollback_{job_.run, job_.checkpoints, suspects_, port_, actions_, actions_};
  HangingMembers hanging_{job_.run, job_.checkpoints, port_, actions_, actions_};
  MemberWatch members_{job_.run, job_.checkpoints, hanging_, port_, actions_, actions_};
  Arrivals arrivals_{job_.run, job_.checkpoints, keeper_, members_, ports_};
};

}  // namespace muster
