// Who adds what: the algorithms of the reduction, as pure functions.
//
// The vector is cut into one range per member, its *owner's*. For each range an algorithm gives a tree over
// the members, with the owner at its root: sums go up it, and the result comes down again. Whatever the tree,
// the bits are the same: each member adds only what the canonical order (canonical_tree.hpp) allows, and
// hands the rest on unadded.
//
// One algorithm has no trees: with `one_shot` each member adds the whole vector up for itself.
//
// What each costs: docs/internals/collectives.md and cost.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class Algorithm : std::uint8_t {
  direct,            ///< everyone to the owner, the owner to everyone (algorithms/direct.cpp)
  halving_doubling,  ///< in pairs, then pairs of pairs, ... (algorithms/halving_doubling.cpp)
  hierarchical,      ///< within a host first, then between hosts (algorithms/hierarchical.cpp)
  one_shot,          ///< everything to everyone, who each add all of it up: no result is sent
};
inline constexpr Algorithm kAlgorithms[] = {Algorithm::direct, Algorithm::halving_doubling,
                                            Algorithm::hierarchical, Algorithm::one_shot};

std::string_view text_of(Algorithm algorithm);
std::optional<Algorithm> algorithm_of(std::string_view text);

/// Whether every member adds every range up, so that none has an owner.
inline constexpr bool adds_everywhere(Algorithm algorithm) {
  return algorithm == Algorithm::one_shot;
}

/// The tree of one range: whom each member sends its sums to. The owner is its own parent.
using Parents = std::vector<std::uint32_t>;

/// hosts[m]: the host that member m is on; members in the order of their shards. Where all add everywhere it
/// is the way of the sums to one of them, `owner`.
Parents tree_of(Algorithm algorithm, std::span<const std::uint32_t> hosts, std::uint32_t owner);

/// The owners of the ranges, in the order in which these lie in the vector.
std::vector<std::uint32_t> owners_in_order(Algorithm algorithm, std::uint32_t members);

// One function for each; see there.
Parents direct_tree(std::uint32_t members, std::uint32_t owner);
Parents halving_doubling_tree(std::uint32_t members, std::uint32_t owner);
Parents hierarchical_tree(std::span<const std::uint32_t> hosts, std::uint32_t owner);

}  // namespace muster
