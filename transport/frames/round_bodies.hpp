// Bodies of the frames that members exchange in a round: the reduction's. `Frame::round` counts the rounds of
// the view. A `header` has no body.
//
// Each body: `from` reads it of a frame of its kind, `put_into` writes it and the kind. `invalid` says what
// cannot be, as far as the frame alone tells; empty: nothing. What fits the view is for the reader to see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/frames/raw_words.hpp"

namespace muster {

/// `metrics`: losses of one round, and what was audited.
struct MetricsBody {
  static constexpr std::uint64_t kAuditsMax = 3;

  /// 0: of all shards of the sender. Else it is a backup worker, and these are of the shards below this node.
  std::uint32_t tree_node = 0;
  std::uint64_t audits = 0;  ///< how many there are behind the losses; at most kAuditsMax

  static MetricsBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::metrics);
    return {words.at_48, words.at_56};
  }
  void put_into(Frame& frame) const { put_words(frame, FrameKind::metrics, {0, tree_node, 0, audits}); }
  std::string invalid() const;
  bool operator==(const MetricsBody&) const = default;
};

/// Which elements a payload brings. Part of the bodies below.
struct Elements {
  std::uint32_t sum = 0;  ///< which of a round's sums (collective/reduction/round_sums.hpp)
  std::uint64_t first = 0;
  /// How many a sparse payload has (collective/sums/sparse.hpp); 0: it is dense, and its size says it.
  std::uint64_t sparse = 0;

  bool operator==(const Elements&) const = default;
};

/// `contribution`: elements of one tree node, to the owner of the range.
struct ContributionBody {
  std::uint32_t tree_node = 0;  ///< collective/sums/canonical_tree.hpp
  Elements elements;

  static ContributionBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::contribution);
    return {words.at_48, {words.at_52, words.at_32, words.at_56}};
  }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::contribution, {elements.first, tree_node, elements.sum, elements.sparse});
  }
  std::string invalid() const;
  bool operator==(const ContributionBody&) const = default;
};

/// `result`: elements of the divided root, from the owner of the range to every member.
struct ResultBody {
  Elements elements;

  static ResultBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::result);
    return {{words.at_52, words.at_32, words.at_56}};
  }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::result, {elements.first, 0, elements.sum, elements.sparse});
  }
  std::string invalid() const { return {}; }
  bool operator==(const ResultBody&) const = default;
};

/// `reduced`: elements of the mean gradient, from the owner of the range to its buddy.
struct ReducedBody {
  std::uint64_t first_element = 0;

  static ReducedBody from(const Frame& frame) { return {words_of(frame, FrameKind::reduced).at_32}; }
  void put_into(Frame& frame) const { put_words(frame, FrameKind::reduced, {first_element, 0, 0, 0}); }
  std::string invalid() const { return {}; }
  bool operator==(const ReducedBody&) const = default;
};

/// Of a contribution, a result or what a buddy keeps. The last one is dense and of the step's sum, but a
/// forged one may say something else.
inline Elements elements_in(const Frame& frame) {
  const RawWords words = words_of(frame, FrameKind::contribution, FrameKind::result, FrameKind::reduced);
  return {words.at_52, words.at_32, words.at_56};
}

/// `carried`: elements of a shard's new state, to the buddy of the member that computes the shard. A state
/// goes in pieces of kElementsMax, the last one shorter.
struct CarriedBody {
  static constexpr std::size_t kElementsMax = 256 * 1024;

  std::uint32_t shard = 0;
  std::uint64_t first_element = 0;

  static CarriedBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::carried);
    return {words.at_48, words.at_32};
  }
  void put_into(Frame& frame) const { put_words(frame, FrameKind::carried, {first_element, shard, 0, 0}); }
  /// Which of the state's pieces it is.
  std::size_t piece() const { return first_element / kElementsMax; }
  std::string invalid() const;
  bool operator==(const CarriedBody&) const = default;
};

/// `kept`, the answer to `reduced`: the buddy holds these elements.
struct KeptElementsBody {
  std::uint64_t first_element = 0;
  std::uint64_t elements = 0;

  static KeptElementsBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::kept);
    return {words.at_32, words.at_56};
  }
  void put_into(Frame& frame) const { put_words(frame, FrameKind::kept, {first_element, 0, 0, elements}); }
  std::string invalid() const;
  bool operator==(const KeptElementsBody&) const = default;
};

/// `kept`, the answer to all pieces of `carried`: the buddy holds the new state of this shard. A view has one
/// of the two at most, so that its members know which it is.
struct KeptShardBody {
  std::uint32_t shard = 0;

  static KeptShardBody from(const Frame& frame) { return {words_of(frame, FrameKind::kept).at_48}; }
  void put_into(Frame& frame) const { put_words(frame, FrameKind::kept, {0, shard, 0, 0}); }
  std::string invalid() const { return {}; }
  bool operator==(const KeptShardBody&) const = default;
};

}  // namespace muster
