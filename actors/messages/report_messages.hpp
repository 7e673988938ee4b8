// Telling the coordinator: events, progress, signs of life, what was done. Part of messages.hpp, which is the
// one to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/messages/epoch_end.hpp"
#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"
#include "muster/events.hpp"
#include "muster/progress.hpp"

namespace muster {

/// any -> coordinator: something that a user must be able to see.
struct Raised {
  Event event;

  static auto fields(Raised& x) { return std::tie(x.event); }
};
MUSTER_MESSAGE(Raised)

/// replica 0 -> coordinator, at most five a second, and of each step that report.progress_every names.
MUSTER_MESSAGE(Progress)

/// replica -> coordinator, after its last step. Owed: Stop.
struct ReplicaDone {
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::string state_sha256;
  PhaseTimes phases;
  Traffic traffic;                ///< of the rounds that it took part in to their end
  std::string algorithm;          ///< of the reduction, in its last view
  std::int64_t steps_asked = -1;  ///< train.steps, if the data ended before
  std::string checkpoint;         ///< file, if this replica wrote one
  std::string note;               ///< for the report's reader; used by `muster bench`
  std::vector<EpochEnd> epochs;   ///< all: what was told of them may have met no coordinator, or an older one

  static auto fields(ReplicaDone& x) {
    return std::tie(x.slot, x.steps, x.samples, x.state_sha256, x.phases, x.traffic, x.algorithm,
                    x.steps_asked, x.checkpoint, x.note, x.epochs);
  }
};
MUSTER_MESSAGE(ReplicaDone)

/// node -> coordinator, every cluster.detect.heartbeat.
struct Heartbeat {
  NodeName name;
  std::uint64_t step = 0;      ///< last step applied
  std::uint64_t measured = 0;  ///< the step that `seconds` is of; 0: none yet
  double seconds = 0;          ///< for data and computation of its shards at that step
  std::uint64_t still_ms = 0;  ///< for how long the thread of its data plane has not done what it was told
  std::uint32_t activity = 0;  ///< Activity
  std::uint64_t doing_ms = 0;  ///< for how long without any progress; 0: it waits for others
  std::uint32_t call = 0;      ///< ThreadCall::Kind: the call that its compute thread is in,
  std::uint32_t call_shard = 0;
  std::uint64_t call_step = 0;
  std::uint64_t call_ms = 0;  ///< and for how long
  std::uint64_t samples = 0;  ///< in the steps that it has applied

  static auto fields(Heartbeat& x) {
    return std::tie(x.name, x.step, x.measured, x.seconds, x.still_ms, x.activity, x.doing_ms, x.call,
                    x.call_shard, x.call_step, x.call_ms, x.samples);
  }
};
MUSTER_MESSAGE(Heartbeat)

}  // namespace muster
