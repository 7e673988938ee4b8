// How somebody outside asks a run how it stands. Part of messages.hpp, which is the one to include and to
// read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"

namespace muster {

/// anyone -> coordinator. Owed: RunStatus, at once; or, `at_end`, when the run has ended.
struct StatusRequest {
  bool at_end = false;

  static auto fields(StatusRequest& x) { return std::tie(x.at_end); }
};
MUSTER_MESSAGE(StatusRequest)

/// A replica or loader that has come, and has not gone.
struct NodeStatus {
  NodeName name;
  std::string state;  ///< "member", "prepares", "newcomer", "leaves", "away": for people
  std::string host;
  std::string address;  ///< by which it reaches the coordinator
  std::string device;
  std::int64_t pid = 0;
  std::uint64_t step = 0;  ///< that it has done last; 0 on a loader

  static auto fields(NodeStatus& x) {
    return std::tie(x.name, x.state, x.host, x.address, x.device, x.pid, x.step);
  }
};
MUSTER_MESSAGE(NodeStatus)

/// How a run stands, as its coordinator knows.
struct RunStatus {
  std::string job;
  std::string state;     ///< "waiting", "training", "changing view", "paused", "ending", or the outcome
  std::string detail;    ///< what it waits for, or why it ends; for people; may be empty
  double elapsed_s = 0;  ///< since this coordinator began
  std::uint32_t view = 0;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;  ///< of the whole job; 0: not known
  std::uint64_t samples = 0;
  double loss = 0;
  double samples_per_second = 0;  ///< since this coordinator heard of a step; 0: not known
  std::string checkpoint;         ///< the last one; empty: none
  std::uint64_t checkpoint_step = 0;
  std::vector<NodeStatus> nodes;

  static auto fields(RunStatus& x) {
    return std::tie(x.job, x.state, x.detail, x.elapsed_s, x.view, x.epoch, x.step, x.steps, x.samples,
                    x.loss, x.samples_per_second, x.checkpoint, x.checkpoint_step, x.nodes);
  }
};
MUSTER_MESSAGE(RunStatus)

}  // namespace muster
