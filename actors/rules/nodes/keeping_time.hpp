// How long others wait for a member that stands still while the state of a run that ends is kept.
#pragma once

#include <chrono>

#include "muster/job.hpp"

namespace muster {

/// It is lost in time for the others to keep the state: after a share of checkpoint.grace, if that is less
/// than usual. Not before it is known who it is; and not where a part of the state would go with it
/// (`can_spare`: none would).
std::chrono::milliseconds time_while_keeping(const Job& job, std::chrono::milliseconds usual, int share,
                                             bool can_spare);

}  // namespace muster
