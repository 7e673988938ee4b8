// Who is here, and the rules for who is let in.
#include <algorithm>

#include "tests/simulation/invariants.hpp"

namespace muster::simulation {

// Members of a kind that were neither lost nor left.
std::uint32_t Invariants::members_left(const std::string& kind) const {
  return static_cast<std::uint32_t>(
      std::count_if(joined_.begin(), joined_.end(), [&](const std::string& who) {
        return who.rfind(kind, 0) == 0 && lost_.count(who) == 0 && left_.count(who) == 0 &&
               leaving_.count(who) == 0;
      }));
}

// Replicas that nothing has befallen, and that came long enough ago to have been given their state. Who was
// in a view that the journal alone knows of is told of as joined by nobody.
std::uint32_t Invariants::newcomers_wait() const {
  const View* view = views_.latest();
  std::set<std::string> members;
  for (const Member& each : view ? view->replicas : std::vector<Member>{}) members.insert(each.name.text());
  return static_cast<std::uint32_t>(std::ranges::count_if(welcomed_, [&](const auto& each) {
    const auto& [who, since] = each;
    return who.rfind("replica", 0) == 0 && cluster_->alive(who) && !may_not_read(who) &&
           now() - since > std::chrono::seconds(2) &&
           members.count(who) + joined_.count(who) + lost_.count(who) + left_.count(who) +
                   leaving_.count(who) + excused_.count(who) ==
               0;
  }));
}

// No loader is left, for which they could work.
std::uint32_t Invariants::members_that_cannot_read() const {
  if (job_.cluster.loaders == 0 || members_left("loader") > 0) return 0;
  return static_cast<std::uint32_t>(std::ranges::count_if(joined_, [this](const std::string& who) {
    return cluster_->without_data(who) && lost_.count(who) + left_.count(who) + leaving_.count(who) == 0;
  }));
}

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
