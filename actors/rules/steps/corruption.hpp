// What follows when members of a view hold other bits: a pure rule. The majority is right; where there is
// none, a gradient is computed again by all, and everything else cannot be told.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "muster/job.hpp"
#include "transport/collective/rounds/round_check.hpp"

namespace muster {

struct Suspects {
  Bits bits = Bits::weights;
  struct Opinion {
    std::uint32_t slot = 0;
    std::uint32_t group = 0;
    /// Replicas that gave it its state or records, and who gave them to those that have no opinion here.
    std::set<std::uint32_t> sources;
    bool newcomer = false;  ///< it has taken part in no step yet
  };
  std::vector<Opinion> opinions;
  bool all_compared = false;  ///< every member was compared in this step: to do it again tells no more
  bool all_heard = false;     ///< there is an opinion of every member
};

struct Judgement {
  enum class Act { report, evict, again, stop };
  Act act = Act::report;
  std::vector<std::uint32_t> odd;  ///< replicas that differ from the majority; empty where there is none
  bool sure = true;                ///< false: newcomers go because they are new; they may be right
};

/// Those who differ from the majority; nothing if there is none. Who agrees with one that its state or
/// records are from has no opinion of its own; nor have two that agree, and have them from the same one.
std::optional<std::vector<std::uint32_t>> odd_ones(const Suspects& suspects);

/// Where it is one against one to the end, and all are heard, a newcomer is odd that differs from all who
/// were there before: these are of one mind, and all go on from their steps.
Judgement judge_bits(const Suspects& suspects, OnCorruption policy);

}  // namespace muster
