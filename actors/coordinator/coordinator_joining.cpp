// Who comes to the coordinator: admission, the first view, and newcomers while training is under way.
#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr std::size_t kCallersMax = 1024;

}  // namespace

void CoordinatorState::refuse(const node_actor& node, const NodeName& who, const std::string& reason,
                              bool again) {
  raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
  self_->send(node, Stop{false, reason, again});
}

void CoordinatorState::on(const Join& message) {
  const auto actor = caf::actor_cast<node_actor>(self_->current_sender());
  if (!actor) return refuse(actor, message.name, "it has no address to answer to");
  if (end_.decided()) return refuse(actor, message.name, "the run has ended");
  // Nobody is there yet to compare it with, or to say which numbers were given.
  const bool others_may_come = phase_ == CoordinatorPhase::adopting || unknown_members_may_come();
  if (others_may_come && message.joins && !canary("adopting-admits-all")) {
    if (callers_.size() >= kCallersMax) return refuse(actor, message.name, "too many want to join", true);
    return callers_.push_back({message, actor});
  }
  admit(message, actor);
}

void CoordinatorState::admit_callers() {
  for (const auto& [join, actor] : std::exchange(callers_, {})) admit(join, actor);
}

void CoordinatorState::admit(const Join& message, const node_actor& actor) {
  const FreeNumbers free = membership_->admission().free_numbers();
  const auto [who, refusal] = membership_->admission().join(message);
  if (!refusal.empty()) return refuse(actor, who, refusal);
  if (free != membership_->admission().free_numbers()) {
    try {
      note(view_);  // its number is never given again
    } catch (const Error& error) {
      membership_->lost(who);
      return refuse(actor, who, std::string("the journal cannot be written: ") + error.what(), true);
    }
    pulse();  // the members know of it before it does
  }
  actors_[who] = actor;
  watch_->came(who, elapsed());
  self_->monitor(actor);
  Welcome welcome;
  welcome.name = who;
  welcome.term = term_.number();
  welcome.job_toml = setup_.job_toml;
  welcome.folder_mark = setup_.folder_mark;
  const auto& placed = setup_.placement.devices;
  const bool comes_by_itself = message.joins || who.loader || who.slot >= placed.size();
  welcome.device = comes_by_itself ? membership_->admission().device_for(message) : placed[who.slot];
  welcome.loader_thread = setup_.placement.loader_threads > 0 && setup_.job.cluster.loaders == 0;
  if (setup_.resume && !begun_) welcome.resume = setup_.resume->manifest;  // later ones get it from a member
  membership_->admission().placed(who, welcome.device);
  self_->send(actor, welcome);
  report_arrived(who);
}

void CoordinatorState::on(const Prepared& message) {
  if (end_.decided() || !membership_->alive(message.name)) return;
  if (const std::string reason = membership_->admission().prepared(message); !reason.empty()) {
    const bool before_the_start = !begun_ && !comes_later(message.name);
    if (before_the_start && (!setup_.by_hand || canary("misfit-ends-all"))) return fail(reason);
    if (!before_the_start) {
      membership_->lost(message.name);
      return refuse(actors_.at(message.name), message.name, reason);
    }
    if (!membership_->admission().full())
      raise(make_event("notice", {{"text", reason}}));  // who is right, others may show
  } else if (const std::string odd = membership_->fit().other_bits(message.name); !odd.empty())
    raise(make_event("notice", {{"text", odd + " (cluster.reproducible = \"loose\")"}}));
  ask_for_ports(message.name);
}

// One that does not fit the others is refused before the start, as it is later. Its place is free, as if
// nobody had come: which of two is right, only their users know.
bool CoordinatorState::refuse_unlike() {
  const auto unlike = membership_->fit().unlike();
  for (const auto& [who, why] : unlike) {
    membership_->lost(who);
    refuse(actors_.at(who), who, why);
    raise(make_event("notice", {{"text", "the place of " + who.text() +
                                             " is free again: mend what differs there, and join again. If it "
                                             "is the other one that is wrong, end that one first"}}));
  }
  return !unlike.empty();
}

// Of those who are ready. Others come to it as newcomers: one of them may hang while it prepares.
void CoordinatorState::form() {
  if (phase_ != CoordinatorPhase::forming || unknown_members_may_come() || gathering_.tries_to_begin_anew() ||
      refuse_unlike())
    return;
  gathering_.none_is_free();
  View view = membership_->views().first();
  view.number = first_view_;
  if (setup_.resume) view.records = setup_.resume->records;
  const Checkpointed& kept = checkpoints_->last();
  view.source = {0, {}, kept.manifest, kept.records, kept.step};
  report_.transport = membership_->at(view.replicas.front().name).prepared.transport;
  report_.ledger_unit = view.facts.unit_is_batch ? "batch" : "sample";
  if (view.facts.take_asked >= 0) {
    raise(make_event("exhausted", {{"scope", "job"},
                                   {"what", "data.take"},
                                   {"asked", view.facts.take_asked},
                                   {"had", view.facts.take_had}}));
  }
  install(view);
}

// By hand nothing is lost with one that goes before the first step: its place is free, and the others wait
// for a while. A view that was sent already is void, and all join anew.
void CoordinatorState::lost_before_begin(const NodeName& who, const std::string& reason, bool again) {
  if (const auto actor = actors_.find(who); actor != actors_.end())
    self_->send(actor->second, Stop{false, "lost before the first view: " + reason, again});
  place_is_free(who);
  if (phase_ != CoordinatorPhase::forming) try_to_begin_anew();
}

void CoordinatorState::place_is_free(const NodeName& who) {
  raise(make_event("notice", {{"text", "the place of " + who.text() + " is free for " +
                                           std::to_string(setup_.job.cluster.start_patience.count()) +
                                           " ms (cluster.start_patience); then the run begins without it, if "
                                           "cluster.min_replicas are there"}}));
  gathering_.place_is_free();
}

// Members of a view that the journal lacks would be back by now.
void CoordinatorState::wait_no_longer() {
  if (phase_ != CoordinatorPhase::forming) return;
  admit_callers();
  if (membership_->admission().full()) form();
}

// Whether the time is over in which its place could be taken, and in which those who are here could be ready.
bool CoordinatorState::begin_with_those_here() {
  if (gathering_.tries_to_begin_anew()) try_to_begin_anew();
  if (gathering_.wait_ends()) wait_no_longer();
  if (!gathering_.has_free_place() || phase_ != CoordinatorPhase::forming || gathering_.tries_to_begin_anew())
    return false;
  // Nobody could take a place, or what is sent may go nowhere.
  if (gathering_.waits_for_unknown_members() || membership_->none_alive() || silence_.lasts()) return false;
  const auto patience = (membership_->admission().any_prepares() ? 2 : 1) * setup_.job.cluster.start_patience;
  if (!gathering_.patience_is_over(patience)) return false;
  if (const std::string missing = membership_->views().missing_to_begin(); !missing.empty()) {
    if (gathering_.too_few())
      raise(make_event("notice", {{"text", "the run begins as soon as there is " + missing}}));
    return false;
  }
  membership_->admission().drop_expected();
  form();
  if (phase_ != CoordinatorPhase::forming && view_.replicas.size() < setup_.job.cluster.replicas)
    raise(make_event("notice", {{"text", "the run begins with " + std::to_string(view_.replicas.size()) +
                                             " of " + std::to_string(setup_.job.cluster.replicas) +
                                             " replicas, for cluster.start_patience is over; others may "
                                             "join it later"}}));
  return true;
}

// A newcomer gets its state from a member, while the others train on.
void CoordinatorState::feed_newcomers() {
  if (end_.keeps_state() || (phase_ != CoordinatorPhase::running && phase_ != CoordinatorPhase::paused))
    return;
  const auto donor = membership_->transfers().donor();
  if (!donor) return;
  View view = view_;
  view.number = membership_->at(donor->name).view.number;
  if (view.number != view_.number && view_.back) return;  // what it holds is not that view's state
  for (const NodeName& who : membership_->transfers().without_donor()) {
    if (view.number <
        membership_->at(who).view.number) {  // the donor that it had knew of a later view, and is gone
      turn_away(who, "its donor is lost", true);
      continue;
    }
    if (membership_->at(who).source.again) end_donation(who);
    membership_->transfers().began(who, *donor);
    self_->send(actors_.at(who), Observe{view, *donor});
    self_->send(actors_.at(donor->name), Donate{view.number, membership_->member_of(who), false, false});
  }
}

void CoordinatorState::end_donation(const NodeName& who) {
  const NodeRecord& record = membership_->at(who);
  if (!begun_ || !membership_->transfers().has_donor(who)) return;
  self_->send(actors_.at({false, record.source.donor}),
              Donate{record.source.view, membership_->member_of(who), false, true});
}

// It knows its donor now; what that one sends will not come from a stranger.
void CoordinatorState::newcomer_ready(const NodeName& who) {
  if (!membership_->alive(who)) return;
  if (phase_ != CoordinatorPhase::running && phase_ != CoordinatorPhase::paused)
    return membership_->transfers().to_begin_again(who);
  const NodeRecord& record = membership_->at(who);
  if (!membership_->transfers().has_donor(who)) return;
  self_->send(actors_.at({false, record.source.donor}),
              Donate{record.source.view, membership_->member_of(who), true, false});
}

// A newcomer that cannot take part harms nobody. It may try again, unless the reason is its own.
void CoordinatorState::turn_away(const NodeName& who, const std::string& reason, bool again) {
  membership_->lost(who);
  raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
  self_->send(actors_.at(who), Stop{false, reason, again});
  end_donation(who);
}

void CoordinatorState::on(const CaughtUp& message) {
  if (end_.decided() || !membership_->alive(message.name) ||
      !membership_->transfers().has_donor(message.name, message.view))
    return;
  if (membership_->at(message.name).source.donor != message.donor) return;  // it is given another state now
  // The view is being closed. Where the next one holds it, or is another one, it hears of that.
  if (phase_ != CoordinatorPhase::running && phase_ != CoordinatorPhase::paused)
    return membership_->transfers().to_begin_again(message.name);
  membership_->transfers().caught_up(message);
  if (phase_ == CoordinatorPhase::running) {
    if (!is_going_back()) close_view();  // else it would be for nothing; see on(Progress)
  } else {
    next_view();
  }
}

}  // namespace muster
