// What a reduction shows of an open round: who owes what.
#include <algorithm>

#include "muster/transport/collective/reduction.hpp"

namespace muster {

// Whether this round moves elements at all. Known when all headers are in.
bool Reduction::sums_follow(const Slot& current) const {
  return current.headers_in == shape_.members.size() &&
         current.headers[shape_.self]->kind == RoundKind::train && current.any_present;
}

std::size_t Reduction::elements_owed(const Slot& current, std::uint32_t member) const {
  const auto present = [&](NodeId node) {
    const auto leaves = leaves_below(height_, node);
    const auto& words = current.headers[member]->shards;
    return std::any_of(words.begin(), words.end(), [&](const ShardWord& word) {
      return word.present() && word.shard >= leaves.begin && word.shard < leaves.end;
    });
  };
  std::size_t owed = current.weight != 0 ? range_of(member).size() : 0;
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (present(nodes_[i].node)) owed += own_.size();
  }
  return owed;
}

RoundSight Reduction::sight() const {
  const Slot& current = slot(round_);
  RoundSight sight;
  sight.view = shape_.view;
  sight.round = round_;
  sight.waiting_since = waits_since_.value_or(std::chrono::nanoseconds{0});
  if (!opened_) return sight;
  const RoundHeader& mine = *current.headers[shape_.self];
  sight.kind = mine.kind;
  sight.step = mine.step;
  sight.last_word_at = last_word_at_;
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    if (member == shape_.self) continue;
    PeerSight peer;
    peer.peer = shape_.members[member].peer;
    peer.header_in = current.headers[member].has_value();
    peer.words_in = mine.kind == RoundKind::greeting ? peer.header_in : words_in(current, member);
    peer.sums_in = !sums_follow(current) || current.elements_in[member] >= elements_owed(current, member);
    sight.peers.push_back(peer);
  }
  return sight;
}

}  // namespace muster
