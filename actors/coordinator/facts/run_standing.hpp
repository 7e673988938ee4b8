// How a run stands: what is told to whoever asks, and to nodes that wait for others. Decides nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/messages/status_messages.hpp"

namespace muster {

/// The answer to StatusRequest. `elapsed`: since the coordinator was started.
RunStatus status_of(const RunFacts& run, const CheckpointFacts& checkpoints,
                    std::chrono::nanoseconds elapsed);

/// The state in one word or two, and what there is to say of it.
std::pair<std::string, std::string> how_it_stands(const RunFacts& run);

struct WorkDone {
  std::uint64_t steps = 0, samples = 0;
};
/// By the reports and the heartbeats of members: who speaks for all may be gone, or tells of few steps in a
/// second. Not while they go back, and what they did before counts no more.
WorkDone heard_of(const RunFacts& run, const CheckpointFacts& checkpoints);

/// Before the first view: "1 of 2 replicas is here". Empty: nobody is waited for.
std::string whom_it_waits_for(const RunFacts& run);

}  // namespace muster
