#include "actors/coordinator/states/next_view.hpp"

#include <algorithm>
#include <tuple>

#include "actors/messages/clean_steps.hpp"

namespace muster {

namespace {

// Nobody compares the weights of a replica that is alone.
void note_alone(View& view, const ViewFacts& facts) {
  if (view.replicas.size() != 1 || view.replicas.front().alone_from > 0) return;
  view.replicas.front().alone_from =
      1 + (reads_checkpoint(view, facts.in_parts) ? view.source.step : facts.steps);
}

}  // namespace

void went_back_to(std::uint64_t step, Member& member) {
  member.clean = clean_after_going_back(member.clean, step);
  member.alone_from = alone_after_going_back(member.alone_from, step);
}

// Whoever was wrong may be right in the first of these steps, or in most of them.
void doubt_all(View& view, std::pair<std::uint64_t, std::uint64_t> steps) {
  std::tie(view.doubted_from, view.doubted_to) = steps;
  view.unproven.clear();
  for (const Member& member : view.replicas) view.unproven.push_back(member.name.slot);
}

// Who goes back, for wrong bits or for lost parts, reads the checkpoint for itself.
void name_givers(View& view, bool in_parts) {
  const bool all_read = reads_checkpoint(view, in_parts);
  for (Member& member : view.replicas) {
    const bool is_behind =
        std::ranges::any_of(view.behind, [&](const Behind& each) { return each.slot == member.name.slot; });
    if (is_behind) member.holds_of.insert(view.donor);
    if (all_read) member.holds_of.clear();
    member.holds_of.erase(member.name.slot);
  }
}

bool reads_checkpoint(const View& view, bool in_parts) {
  return view.back || (in_parts && view.source.view == 0);
}

void begin_with(View& view, const Checkpointed& last) {
  view.source = {0, {}, last.manifest, last.records, last.step};
  view.records = last.records;
  view.behind.clear();
  for (Member& member : view.replicas) went_back_to(last.step, member);
}

// The source of a view that took no effect is that of the next one, unless nobody could read it. A view that
// goes back has taken effect with its first record: until then some members may hold what they held before.
ViewStart decide_start(View& view, const View& before, const ViewStartFacts& facts) {
  if (facts.parts_lost || (view.source.view == 0 && facts.source_is_void)) begin_with(view, facts.last);
  ViewStart start = ViewStart::anew;  // parts were lost, and no good checkpoint is left
  if (facts.suspects && facts.good) {
    start = ViewStart::before_suspects;
    view.source = {0, {}, facts.good->manifest, facts.good->records, facts.good->step};
  } else if (!facts.suspects || view.source.view != 0 || view.records != 0) {
    const bool goes_back = before.back && facts.took < before.number;
    if (!goes_back) return facts.suspects ? ViewStart::keeps_suspects : ViewStart::goes_on;
    start = ViewStart::again;
    view.source = before.source;
  }
  view.back = true;
  view.records = view.source.records;
  view.behind.clear();
  for (Member& member : view.replicas) went_back_to(view.source.step, member);
  return start;
}

View complete_view(View view, const ViewFacts& facts) {
  view.term = facts.term;
  view.history = facts.history;
  view.dropping = facts.dropping;
  std::tie(view.doubted_from, view.doubted_to) = facts.doubted;
  if (facts.compared) doubt_all(view, *facts.compared);
  if (view.source.view != 0 && facts.last.records > view.source.records) {
    view.source.checkpoint = facts.last.manifest;
    view.source.records = facts.last.records;
    view.source.step = facts.last.step;
  }
  name_givers(view, facts.in_parts);
  note_alone(view, facts);
  return view;
}

}  // namespace muster
