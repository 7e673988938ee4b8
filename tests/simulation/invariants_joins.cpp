// The rules for who is let in.
#include <algorithm>

#include "tests/simulation/invariants.hpp"

namespace muster::simulation {

// Where no member is left, the first one that comes is what others are compared with.
bool Invariants::any_to_compare_with() const {
  const View* view = views_.latest();
  if (!view || tally_.of("event: view") == 0) return false;  // those count of whom there are more
  return std::ranges::any_of(members_of(view->number), [this](ProcessId member) {
    return cluster_->world().alive(member) && !cluster_->unlike(seen_.at(member).name.text());
  });
}

void Invariants::joined(const std::string& who) {
  const View* view = views_.latest();
  if (!view || !view->last) joined_.insert(who);  // who comes for the end was no member when it was decided
  if (cluster_->two_coordinators()) joined_second_.insert(who);
  expect_no_wall(who);
  if (!cluster_->unlike(who)) return;
  if (view) expect_alike(*view, who);  // before the first view those count of whom there are more
}

// Whose weights are not those of the others is in no view with them; who is there first is what others must
// be like.
void Invariants::expect_alike(const View& view, const std::string& who) {
  const auto unlike = [this](const Member& each) { return cluster_->unlike(each.name.text()); };
  if (!std::ranges::all_of(view.replicas, unlike))
    return say({7, who + " was let in, although its weights are not those of the others"});
  tally_.count("run: begins anew with nobody but one that would not fit");
  lose_bits();
  over_ = true;
}

// A view holds nobody who does not reach another member of it.
void Invariants::expect_no_wall(const std::string& who) {
  const std::string other = cluster_->walled_from(who);
  const View* view = views_.latest();
  if (other.empty() || !view) return;
  excused_.insert(who);
  if (std::ranges::any_of(view->replicas, [&](const Member& each) { return each.name.text() == other; }))
    say({7, who + " was let in, although nothing goes between it and " + other});
}

}  // namespace muster::simulation
