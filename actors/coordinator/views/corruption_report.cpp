#include "actors/coordinator/views/corruption_report.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/events/event.hpp"
#include "actors/messages/clean_steps.hpp"
#include "actors/rules/steps/other_bits.hpp"
#include "actors/rules/steps/weight_blocks.hpp"

namespace muster {

namespace {

constexpr const char* kWhat[] = {"records", "weights", "gradients"};
constexpr const char* kActions[] = {"reported", "evicted", "all are compared, and the step is done again",
                                    "the run fails"};

std::string steps_text(std::uint64_t from, std::uint64_t to) {
  return from == to ? "step " + std::to_string(from)
                    : "steps " + std::to_string(from) + " to " + std::to_string(to);
}

// Only gradients depend on what they are computed with.
std::string why_two_differ(const UnlikeBits& message, const Membership& membership) {
  if (bits_of(message) != Bits::gradient || message.slots.size() < 2) return {};
  const auto& one = membership.at({false, message.slots.front()}).prepared;
  const auto other = std::find_if(message.groups.begin(), message.groups.end(),
                                  [&](std::uint32_t group) { return group != message.groups.front(); });
  if (other == message.groups.end()) return {};
  const auto at = static_cast<std::size_t>(other - message.groups.begin());
  return why_other_bits(one, membership.at({false, message.slots[at]}).prepared);
}

}  // namespace

Bits bits_of(const UnlikeBits& message) {
  return static_cast<Bits>(std::min<std::uint8_t>(message.bits, 2));
}

std::uint64_t last_done(const UnlikeBits& message) {
  return bits_of(message) == Bits::gradient && message.step > 0 ? message.step - 1 : message.step;
}

Suspects suspects_in(const UnlikeBits& message, const RunFacts& run) {
  Suspects suspects;
  suspects.bits = bits_of(message);
  suspects.all_compared = run.view.doubts(message.step);
  for (std::size_t i = 0; i < std::min(message.slots.size(), message.groups.size()); ++i) {
    const std::uint32_t slot = message.slots[i];
    const bool newcomer = run.membership->at({false, slot}).bits.clean == kCleanUntilView;
    suspects.opinions.push_back({slot, message.groups[i], {}, newcomer});
  }
  if (message.first) {
    for (Suspects::Opinion& each : suspects.opinions)
      each.sources = sources_of(each.slot, message.slots, *run.membership);
  }
  suspects.all_heard = suspects.opinions.size() == run.view.replicas.size();
  return suspects;
}

std::set<std::uint32_t> sources_of(std::uint32_t slot, const std::vector<std::uint32_t>& asked,
                                   const Membership& membership) {
  std::set<std::uint32_t> sources;
  std::vector<std::uint32_t> open{slot};
  while (!open.empty()) {
    const NodeRecord* record = membership.find({false, open.back()});
    open.pop_back();
    if (!record) continue;
    for (const std::uint32_t giver : record->bits.holds_of) {
      if (sources.insert(giver).second && std::ranges::find(asked, giver) == asked.end())
        open.push_back(giver);
    }
  }
  return sources;
}

std::uint64_t first_in_doubt(const UnlikeBits& message, const Judgement& judgement,
                             const Membership& membership, const SuspectSteps& suspects) {
  const auto& slots = judgement.odd.empty() ? message.slots : judgement.odd;
  const std::uint64_t behind = last_done(message) + 1;
  std::uint64_t from = behind;
  for (const std::uint32_t slot : slots) {
    const std::uint64_t clean = membership.at({false, slot}).bits.clean;
    if (bits_of(message) == Bits::gradient) from = std::min(from, first_unclean(clean, behind));
    if (bits_of(message) != Bits::weights || clean == kCleanUntilView) continue;
    const NodeRecord& record = membership.at({false, slot});
    from = std::min(from, first_wrong_weights(message.step, weight_blocks(record.prepared.elements),
                                              record.bits.alone_from));
  }
  if (judgement.odd.empty() && suspects.in_doubt()) from = std::min(from, suspects.doubt_from());
  return from;
}

bool ends_with(const Judgement& judgement, const RunFacts& run) {
  if (judgement.act != Judgement::Act::evict) return judgement.act == Judgement::Act::stop;
  return std::ranges::any_of(judgement.odd, [&](std::uint32_t slot) {
    return run.membership->alive({false, slot}) && !run.goes_on_without({false, slot});
  });
}

std::string advice_of(const UnlikeBits& message, const Judgement& judgement, const Membership& membership) {
  const std::string why = why_two_differ(message, membership);
  if (judgement.odd.empty()) return why.empty() ? "no majority tells which of them is right" : why;
  std::vector<NodeName> odd;
  for (const std::uint32_t slot : judgement.odd) odd.push_back({false, slot});
  return list_of(odd) + (odd.size() == 1 ? " differs from " : " differ from ") +
         (judgement.sure ? "the majority" : "all who were there before") + (why.empty() ? "" : "; " + why);
}

std::string what_follows(const UnlikeBits& message, const Judgement& judgement, std::uint64_t from, bool ends,
                         const KnownCheckpoints& checkpoints) {
  using Act = Judgement::Act;
  const std::uint64_t done = last_done(message);
  if (judgement.act == Act::again && from > done)
    return "nothing is needed yet: the step is not applied before it is known who is wrong";
  if (!judgement.sure)
    return "the newcomer is turned away; whether it or those who were there before are wrong, only a further "
           "replica can tell: start one more (muster join), and begin the run again if that one differs, too";
  if (from > done) return "nothing is needed for the weights: no step that was applied holds wrong results";
  const std::string may = steps_text(from, done) + " may hold wrong results";
  const auto good = checkpoints.good_before(from);
  const std::string before = good ? good->manifest : std::string();
  const bool goes_on = judgement.act != Act::report && !ends;
  if (!good && checkpoints.hidden_before(from))
    return may + "; checkpoint.folder, or some of it, cannot be read now" +
           (goes_on ? ": as soon as it can, the run goes on from a checkpoint before them"
                    : ": make it readable, and go on with --resume from a checkpoint before them");
  if (goes_on) {
    return good ? may + "; the run goes back to " + before
                : may + ", and no checkpoint before them is there; if this matters, begin the run again";
  }
  if (judgement.act == Act::report) {
    return may + (good ? "; for the exact bits, end the run, move later checkpoints than " + before +
                             " away, and go on with --resume"
                       : "; for the exact bits, begin the run again");
  }
  return may + (good ? "; the last checkpoint without them is " + before + ": go on with --resume"
                     : ", and no checkpoint without them is there: begin again");
}

std::vector<Event> corrupt_events(const UnlikeBits& message, const Judgement& judgement, const RunFacts& run,
                                  const CheckpointFacts& checkpoints) {
  std::vector<Event> events;
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const std::uint64_t from = first_in_doubt(message, judgement, *run.membership, checkpoints.suspects);
  const auto add_for = [&](std::optional<std::uint32_t> slot) {
    std::vector<std::pair<std::string, EventValue>> fields{
        {"what", std::string(kWhat[static_cast<std::size_t>(bits_of(message))])},
        {"step", whole(message.step)},
        {"from_step", whole(from)},
        {"text", message.text},
        {"action", std::string(kActions[static_cast<std::size_t>(judgement.act)])},
        {"advice", what_follows(message, judgement, from, ends_with(judgement, run), *checkpoints.known)}};
    if (slot) {
      fields.emplace_back("replica", whole(*slot));
      fields.emplace_back("device", run.membership->at({false, *slot}).process.device);
    }
    events.push_back(make_event("corrupt", std::move(fields)));
  };
  for (const std::uint32_t slot : judgement.odd) add_for(slot);
  if (judgement.odd.empty()) add_for(std::nullopt);
  return events;
}

}  // namespace muster
