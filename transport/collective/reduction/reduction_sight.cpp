// What a reduction shows of an open round: who owes what.
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

RoundSight Reduction::sight() const {
  const Slot& current = slots_[round_];
  RoundSight sight;
  sight.view = shape_.view;
  sight.round = round_;
  sight.waiting_since = waits_since_.value_or(std::chrono::nanoseconds{0});
  if (!opened_) return sight;
  const RoundHeader& mine = current.reports.own_header();
  sight.kind = mine.kind;
  sight.step = mine.step;
  sight.record = records_ + 1;
  sight.samples = has_samples(mine);
  sight.metrics_follow = shape_.copies != nullptr;
  const std::uint32_t buddy = shape_.members[shape_.self].buddy;
  sight.last_report_at = last_report_at_;
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    if (member == shape_.self) continue;
    PeerSight peer;
    peer.peer = shape_.members[member].peer;
    const auto& header = current.reports.headers()[member];
    peer.header_in = header.has_value();
    peer.samples = peer.header_in && has_samples(*header);
    const bool headers_alone = mine.kind == RoundKind::greeting || mine.kind == RoundKind::check;
    peer.metrics_in = headers_alone ? peer.header_in : current.reports.complete(member);
    // Where shards have states, nobody is done before all have opened the round.
    peer.metrics_in = peer.metrics_in || (shape_.copies && peer.header_in && !current.agreed);
    const bool keeps = member == buddy && !current.copies.all_kept();
    peer.sums_in = !current.sums_follow() || !current.agreed || (!open_sum().owes(member) && !keeps);
    peer.taken = current.under_way.to[member] == 0;
    sight.peers.push_back(peer);
  }
  return sight;
}

}  // namespace muster
