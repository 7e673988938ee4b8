// Which algorithm a view's reduction takes where the job leaves it open: a rule of a few lines, measured with
// `muster bench allreduce --algorithm all`; see docs/internals/collectives.md.
#pragma once

#include <cstddef>
#include <span>

#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {

/// A pure function of what all members know alike: the size of the vector, or of a bucket of it, and who
/// shares a host with whom.
Algorithm choose_algorithm(std::size_t elements, std::span<const std::uint32_t> hosts);

/// Whether rounds may be summed up by `one_shot` as well: two members of one host, who have a half each
/// otherwise. They read and send no more bytes then.
bool may_take_one_shot(std::span<const std::uint32_t> hosts);

}  // namespace muster
