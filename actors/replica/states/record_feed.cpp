#include "actors/replica/states/record_feed.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void RecordFeed::wants_nothing(PeerId peer) {
  fed_.erase(peer);
  std::erase(waiting_, peer);
}

void RecordFeed::forget_newcomers() {
  fed_.clear();
  waiting_.clear();
}

std::vector<PeerId> RecordFeed::give_state(std::uint64_t records) {
  for (const PeerId peer : waiting_) fed_[peer] = {records, records, records};
  return std::exchange(waiting_, {});
}

bool RecordFeed::is_for(PeerId peer, std::uint64_t records) const {
  const auto feeding = fed_.find(peer);
  return feeding != fed_.end() && feeding->second.from == records;
}

RecordFeed::Actions RecordFeed::taken(PeerId peer, std::uint64_t number, std::uint64_t window) {
  Actions actions;
  const auto feeding = fed_.find(peer);
  if (feeding == fed_.end() || number > feeding->second.sent) return actions;
  feeding->second.taken = std::max(feeding->second.taken, number);
  serve(peer, window, actions);
  return actions;
}

RecordFeed::Actions RecordFeed::keep(Record record, std::uint64_t number, std::uint64_t window) {
  if (number != newest_ + 1) kept_.clear();  // one between them was not kept: the older ones lead nowhere
  kept_.push_back(std::move(record));
  newest_ = number;
  if (kept_.size() > window) kept_.pop_front();
  std::vector<PeerId> peers;
  for (const auto& [peer, feeding] : fed_) peers.push_back(peer);
  Actions actions;
  for (const PeerId peer : peers) serve(peer, window, actions);
  return actions;
}

void RecordFeed::drop_newest() {
  if (kept_.empty()) return;
  kept_.pop_back();
  --newest_;
}

RecordFeed::Record RecordFeed::find(std::uint64_t number) const {
  if (kept_.empty() || number < oldest() || number > newest_) return nullptr;
  return kept_[number - oldest()];
}

// What the newcomer misses and may be sent.
void RecordFeed::serve(PeerId peer, std::uint64_t window, Actions& actions) {
  if (kept_.empty()) return;
  Feeding& feeding = fed_.at(peer);
  if (feeding.sent < newest_ && feeding.sent + 1 < oldest()) {
    actions.emplace_back(TooSlow{peer, feeding.taken});
    fed_.erase(peer);
    return;
  }
  while (feeding.sent < newest_ && feeding.sent - feeding.taken < window) {
    ++feeding.sent;
    actions.emplace_back(Send{peer, feeding.sent, kept_[feeding.sent - oldest()]});
  }
}

}  // namespace muster
