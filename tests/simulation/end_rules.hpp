// What explains that a run does not complete, or keeps no state at its end: pure rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "actors/messages/end_messages.hpp"
#include "muster/job.hpp"
#include "tests/simulation/tally.hpp"

namespace muster::simulation {

/// For how long something was out of reach.
class Outage {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// Whoever needs it looks at it that often at least: a break that is shorter counts as none.
  explicit Outage(Nanoseconds looks) : looks_(looks), until_(-looks) {}
  /// Now it begins, and lasts for this time; or it goes on for longer than it was to.
  void begins(Nanoseconds now, Nanoseconds lasts);
  /// The longest one until now.
  Nanoseconds longest(Nanoseconds now) const;

 private:
  Nanoseconds looks_, since_{0}, until_, longest_{0};
};

/// At which micro-batches nodes have failed, as they have said themselves.
class FailedPlaces {
 public:
  void failed(const NodeName& who, const ErrorPlace& at);
  /// Whether two nodes have failed at one micro-batch, and it is the one that this text names.
  bool two_have_failed(const std::string& reason) const;

 private:
  std::map<ErrorPlace, std::set<NodeName>> at_;
};

/// Whether a run may end because nobody knows whose bits are right. `minds`: members that have their state
/// from none of the others. One of three is found.
bool may_stop_for_wrong_bits(OnCorruption policy, std::size_t minds);

/// Whether a run may say that no step was done. `steps`: of each member that is left. `given_up`: all have
/// gone back to the beginning.
bool may_have_done_no_step(std::span<const std::uint64_t> steps, bool given_up);

/// Whether a fault has happened that can keep all members from writing a last checkpoint for as long as a run
/// waits. `in_parts`: each member has to write, or give, a part.
bool writing_may_be_held_up(const Tally& tally, bool in_parts);

}  // namespace muster::simulation
