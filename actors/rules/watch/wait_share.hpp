// Whom a replica waited for, and how long: a pure rule over the arrival times of the last reports of its
// rounds.
#pragma once

#include <chrono>
#include <map>

#include "actors/messages/epoch_end.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class WaitShare {
 public:
  using Time = std::chrono::nanoseconds;

  /// A round is over. `handed_in`: when this replica had done its part. A record that was sent by
  /// another member has no arrival times, and counts for nothing.
  void round_done(const RoundRecord& record, Time handed_in);

  void fill(PhaseTimes& phases) const;

 private:
  double seconds_ = 0;
  std::map<std::uint32_t, double> by_slot_;
};

}  // namespace muster
