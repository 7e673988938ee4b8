// Members of a view hold other bits: who is wrong, as far as that can be told, and what follows.
#include <algorithm>
#include <utility>

#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/coordinator_bits.hpp"
#include "actors/events/event.hpp"
#include "actors/messages/clean_steps.hpp"
#include "actors/rules/steps/other_bits.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

constexpr const char* kWhat[] = {"records", "weights", "gradients"};
constexpr const char* kActions[] = {"reported", "evicted", "all are compared, and the step is done again",
                                    "the run fails"};

}  // namespace

Bits bits_of(const UnlikeBits& message) {
  return static_cast<Bits>(std::min<std::uint8_t>(message.bits, 2));
}

// Gradients of a step are compared before it is applied.
std::uint64_t last_done(const UnlikeBits& message) {
  return bits_of(message) == Bits::gradient && message.step > 0 ? message.step - 1 : message.step;
}

Suspects CoordinatorState::suspects_in(const UnlikeBits& message) const {
  Suspects suspects;
  suspects.bits = bits_of(message);
  suspects.all_compared = view_.doubts(message.step);
  for (std::size_t i = 0; i < std::min(message.slots.size(), message.groups.size()); ++i) {
    const std::uint32_t slot = message.slots[i];
    const bool newcomer = membership_->at({false, slot}).bits.clean == kCleanUntilView;
    suspects.opinions.push_back({slot, message.groups[i], {}, newcomer});
  }
  if (message.first) {
    for (Suspects::Opinion& each : suspects.opinions) each.sources = sources_of(each.slot, message.slots);
  }
  suspects.all_heard = suspects.opinions.size() == view_.replicas.size();
  return suspects;
}

// Who gave it, in this view or before it, a whole state or records that were not compared since. Who cannot
// be asked may have been given them by others.
std::set<std::uint32_t> CoordinatorState::sources_of(std::uint32_t slot,
                                                     const std::vector<std::uint32_t>& asked) const {
  std::set<std::uint32_t> sources;
  std::vector<std::uint32_t> open{slot};
  while (!open.empty()) {
    const NodeRecord* record = membership_->find({false, open.back()});
    open.pop_back();
    if (!record) continue;
    for (const std::uint32_t giver : record->bits.holds_of) {
      if (sources.insert(giver).second && std::ranges::find(asked, giver) == asked.end())
        open.push_back(giver);
    }
  }
  return sources;
}

void CoordinatorState::on(const UnlikeBits& message) {
  if (end_.decided() || message.view != view_.number || !membership_->member(message.name)) return;
  membership_->compared(message.view, message.clean);
  // A view begins with a comparison. What comes after it tells a coordinator that was started again of that.
  if (!message.first && bits_of(message) != Bits::record && view_.replicas.size() > 1)
    membership_->weights_compared();
  const Judgement judgement = judge_bits(suspects_in(message), setup_.job.cluster.on_corruption);
  if (!suspects_.is_news(message.view, message.bits, judgement)) return;
  checkpoints_->look();  // a checkpoint that follows from it is waited for
  std::vector<Event> told = corrupt_events(message, judgement);
  if (canary("told-before-it-is-marked")) {
    for (const Event& event : std::exchange(told, {})) raise(event);
  }
  const std::uint64_t from = first_in_doubt(message, judgement);
  const std::string follows = what_follows(message, judgement, from);
  const bool ends = ends_with(judgement);
  const bool applied = from <= last_done(message);
  const bool again = judgement.act == Judgement::Act::again;
  if (applied && judgement.act != Judgement::Act::report && !(again && canary("doubt-waits")))
    suspect(from, ends);
  suspects_.judged(judgement, bits_of(message), from, applied, message.slots);
  for (const Event& event : told) raise(event);  // what it says of checkpoints is true by now
  if (end_.decided()) return;                    // another coordinator has the journal
  switch (judgement.act) {
    case Judgement::Act::report:
      return;
    case Judgement::Act::evict:
      return evict_corrupt(message, judgement.odd);
    case Judgement::Act::again:
      suspects_.compare_again(from, message.step, view_);
      if (phase_ != CoordinatorPhase::adopting) close_view();
      return;
    case Judgement::Act::stop:
      return fail("diverged: " + message.text + "; " + advice_of(message) + "; " + follows);
  }
}

// One event for each that is wrong; one without a name where nobody knows who is.
std::vector<Event> CoordinatorState::corrupt_events(const UnlikeBits& message,
                                                    const Judgement& judgement) const {
  std::vector<Event> events;
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const std::uint64_t from = first_in_doubt(message, judgement);
  const auto add_for = [&](std::optional<std::uint32_t> slot) {
    std::vector<std::pair<std::string, EventValue>> fields{
        {"what", std::string(kWhat[static_cast<std::size_t>(bits_of(message))])},
        {"step", whole(message.step)},
        {"from_step", whole(from)},
        {"text", message.text},
        {"action", std::string(kActions[static_cast<std::size_t>(judgement.act)])},
        {"advice", what_follows(message, judgement, from)}};
    if (slot) {
      fields.emplace_back("replica", whole(*slot));
      fields.emplace_back("device", membership_->at({false, *slot}).process.device);
    }
    events.push_back(make_event("corrupt", std::move(fields)));
  };
  for (const std::uint32_t slot : judgement.odd) add_for(slot);
  if (judgement.odd.empty()) add_for(std::nullopt);
  return events;
}

std::string CoordinatorState::advice_of(const UnlikeBits& message) const {
  if (bits_of(message) != Bits::gradient || message.slots.size() < 2)
    return "no majority tells which of them is right";
  const auto& one = membership_->at({false, message.slots.front()}).prepared;
  const auto other = std::find_if(message.groups.begin(), message.groups.end(),
                                  [&](std::uint32_t group) { return group != message.groups.front(); });
  if (other == message.groups.end()) return {};
  const auto at = static_cast<std::size_t>(other - message.groups.begin());
  return why_other_bits(one, membership_->at({false, message.slots[at]}).prepared);
}

// One that computes wrong bits would do so again. One whose memory was wrong gets the state anew. It may not
// have come back yet to a coordinator that was started anew.
void CoordinatorState::evict_corrupt(const UnlikeBits& message, const std::vector<std::uint32_t>& odd) {
  const bool again = bits_of(message) != Bits::gradient;
  for (const std::uint32_t slot : odd) {
    const NodeRecord* record = membership_->find({false, slot});
    if (end_.decided() || !record || record->stage == NodeStage::lost || record->stage == NodeStage::left)
      continue;
    lost({false, slot}, "coordinator", "corrupt: " + message.text, again);
  }
}

}  // namespace muster
