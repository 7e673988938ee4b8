#include "actors/coordinator/views/corruption.hpp"

#include <algorithm>
#include <utility>

#include "actors/coordinator/views/corruption_report.hpp"
#include "actors/events/event.hpp"
#include "base/canary.hpp"

namespace muster {

void Corruption::on(const UnlikeBits& message) {
  if (run_.end.decided() || message.view != run_.view.number || !run_.membership->member(message.name))
    return;
  run_.membership->compared(message.view, message.clean);
  // A view begins with a comparison. What comes after it tells a coordinator that was started again of that.
  if (!message.first && bits_of(message) != Bits::record && run_.view.replicas.size() > 1)
    run_.membership->weights_compared();
  const Judgement judgement = judge_bits(suspects_in(message, run_), run_.setup.job.cluster.on_corruption);
  if (!checkpoints_.suspects.is_news(message.view, message.bits, judgement)) return;
  checkpoints_.known->look();  // a checkpoint that follows from it is waited for
  std::vector<Event> told = corrupt_events(message, judgement, run_, checkpoints_);
  if (canary("told-before-it-is-marked")) {
    for (const Event& event : std::exchange(told, {})) port_.raise(event);
  }
  const std::uint64_t from = first_in_doubt(message, judgement, *run_.membership, checkpoints_.suspects);
  const bool ends = ends_with(judgement, run_);
  const std::string follows = what_follows(message, judgement, from, ends, *checkpoints_.known);
  const bool applied = from <= last_done(message);
  const bool again = judgement.act == Judgement::Act::again;
  if (applied && judgement.act != Judgement::Act::report && !(again && canary("doubt-waits")))
    suspect_checkpoints_.suspect(from, ends);
  checkpoints_.suspects.judged(judgement, bits_of(message), from, applied, message.slots);
  for (const Event& event : told) port_.raise(event);  // what it says of checkpoints is true by now
  if (run_.end.decided()) return;                      // another coordinator has the journal
  switch (judgement.act) {
    case Judgement::Act::report:
      return;
    case Judgement::Act::evict:
      return evict_corrupt(message, judgement.odd);
    case Judgement::Act::again:
      checkpoints_.suspects.compare_again(from, message.step, run_.view);
      if (run_.phase != CoordinatorPhase::adopting) views_.close_view();
      return;
    case Judgement::Act::stop:
      return ending_.fail("diverged: " + message.text + "; " +
                          advice_of(message, judgement, *run_.membership) + "; " + follows);
  }
}

// One that computes wrong bits would do so again. One whose memory was wrong gets the state anew. It may not
// have come back yet to a coordinator that was started anew.
void Corruption::evict_corrupt(const UnlikeBits& message, const std::vector<std::uint32_t>& odd) {
  const bool again = bits_of(message) != Bits::gradient;
  for (const std::uint32_t slot : odd) {
    const NodeRecord* record = run_.membership->find({false, slot});
    if (run_.end.decided() || !record || record->stage == NodeStage::lost || record->stage == NodeStage::left)
      continue;
    views_.lost({false, slot}, "coordinator", "corrupt: " + message.text, again);
  }
}

}  // namespace muster
