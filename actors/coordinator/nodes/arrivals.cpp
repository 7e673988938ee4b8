#include "actors/coordinator/nodes/arrivals.hpp"

#include <utility>

#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr std::size_t kCallersMax = 1024;

}  // namespace

void Arrivals::refuse(const node_actor& node, const NodeName& who, const std::string& reason, bool again) {
  port_.raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
  connections_.answer(node, Stop{false, reason, again});
}

void Arrivals::refuse(const NodeName& who, const std::string& reason) {
  port_.raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
  port_.send(who, Stop{false, reason, false});
}

void Arrivals::on(const Join& message) {
  const auto actor = connections_.sender();
  if (!actor) return refuse(actor, message.name, "it has no address to answer to");
  if (run_.end.decided()) return refuse(actor, message.name, "the run has ended");
  // Nobody is there yet to compare it with, or to say which numbers were given.
  const bool others_may_come = run_.phase == CoordinatorPhase::adopting || run_.unknown_members_may_come();
  if (others_may_come && message.joins && !canary("adopting-admits-all")) {
    if (callers_.size() >= kCallersMax) return refuse(actor, message.name, "too many want to join", true);
    return callers_.push_back({message, actor});
  }
  admit(message, actor);
}

void Arrivals::admit_callers() {
  for (const auto& [join, actor] : std::exchange(callers_, {})) admit(join, actor);
}

void Arrivals::refuse_callers(const std::string& reason) {
  for (const auto& [join, actor] : std::exchange(callers_, {})) refuse(actor, join.name, reason);
}

void Arrivals::admit(const Join& message, const node_actor& actor) {
  const FreeNumbers free = run_.membership->admission().free_numbers();
  const auto [who, refusal] = run_.membership->admission().join(message);
  if (!refusal.empty()) return refuse(actor, who, refusal);
  if (free != run_.membership->admission().free_numbers()) {
    try {
      journal_.note_number_of(who);  // its number is never given again
    } catch (const Error& error) {
      run_.membership->admission().take_back(who);
      return refuse(actor, who, std::string("the journal cannot be written: ") + error.what(), true);
    }
    members_.pulse();  // the members know of it before it does
  }
  connections_.connect(who, actor);
  run_.watch->came(who, port_.elapsed());
  Welcome welcome;
  welcome.name = who;
  welcome.term = run_.term.number();
  welcome.job_toml = run_.setup.job_toml;
  welcome.folder_mark = run_.setup.folder_mark;
  const auto& placed = run_.setup.placement.devices;
  const bool comes_by_itself = message.joins || who.loader || who.slot >= placed.size();
  welcome.device = comes_by_itself ? run_.membership->admission().device_for(message) : placed[who.slot];
  welcome.loader_thread = run_.setup.placement.loader_threads > 0 && run_.setup.job.cluster.loaders == 0;
  if (run_.setup.resume && !run_.begun)
    welcome.resume = run_.setup.resume->manifest;  // later ones get it from a member
  run_.membership->admission().placed(who, welcome.device);
  port_.send(who, welcome);
  report_arrived(who);
}

void Arrivals::report_arrived(const NodeName& who) {
  run_.gathering.changed();
  std::vector<std::pair<std::string, EventValue>> fields{{kind(who), number(who.slot)},
                                                         {"pid", run_.membership->at(who).process.pid}};
  if (!run_.begun) {
    const auto [here, places] = run_.membership->admission().arrived(who.loader);
    fields.insert(fields.end(), {{"here", number(here)}, {"places", number(places)}});
  }
  port_.raise(make_event("arrived", fields));
}

// One that does not fit the others is refused before the start, as it is later. Its place is free, as if
// nobody had come: which of two is right, only their users know.
bool Arrivals::refuse_unlike() {
  const auto unlike = run_.membership->fit().unlike();
  if (!unlike.empty()) run_.gathering.changed();
  for (const auto& [who, why] : unlike) {
    run_.membership->lost(who);
    refuse(who, why);
    port_.raise(
        make_event("notice", {{"text", "the place of " + run_.membership->nodes().name_at_place(who) +
                                           " is free again: mend what differs there, and join again. If it "
                                           "is the other one that is wrong, end that one first"}}));
  }
  return !unlike.empty();
}

void Arrivals::form() {
  if (run_.phase != CoordinatorPhase::forming || run_.unknown_members_may_come() ||
      run_.gathering.tries_to_begin_anew() || refuse_unlike())
    return;
  run_.gathering.none_is_free();
  View view = run_.membership->views().first();
  view.number = run_.first_view;
  if (run_.setup.resume) view.records = run_.setup.resume->records;
  const Checkpointed& kept = checkpoints_.known->last();
  view.source = {0, {}, kept.manifest, kept.records, kept.step};
  run_.report.transport = run_.membership->at(view.replicas.front().name).prepared.transport;
  run_.report.ledger_unit = view.facts.unit_is_batch ? "batch" : "sample";
  if (view.facts.take_asked >= 0) {
    port_.raise(make_event("exhausted", {{"scope", "job"},
                                         {"what", "data.take"},
                                         {"asked", view.facts.take_asked},
                                         {"had", view.facts.take_had}}));
  }
  views_.install(view);
}

void Arrivals::place_is_free(const NodeName& who) {
  port_.raise(make_event(
      "notice", {{"text", "the place of " + run_.membership->nodes().name_at_place(who) + " is free for " +
                              std::to_string(run_.setup.job.cluster.start_patience.count()) +
                              " ms (cluster.start_patience); then the run begins without it, if "
                              "cluster.min_replicas are there"}}));
  run_.gathering.place_is_free();
}

// Members of a view that the journal lacks would be back by now.
void Arrivals::wait_no_longer() {
  if (run_.phase != CoordinatorPhase::forming) return;
  admit_callers();
  if (run_.membership->admission().full()) form();
}

bool Arrivals::begin_with_those_here() {
  if (run_.gathering.wait_ends()) wait_no_longer();
  if (!run_.gathering.has_free_place() || run_.phase != CoordinatorPhase::forming ||
      run_.gathering.tries_to_begin_anew())
    return false;
  // Nobody could take a place, or what is sent may go nowhere.
  if (run_.gathering.waits_for_unknown_members() || run_.membership->none_alive() || run_.silence.lasts())
    return false;
  const auto patience =
      (run_.membership->admission().any_prepares() ? 2 : 1) * run_.setup.job.cluster.start_patience;
  if (!run_.gathering.patience_is_over(patience)) return false;
  if (const std::string missing = run_.membership->views().missing_to_begin(); !missing.empty()) {
    if (run_.gathering.too_few()) {
      run_.gathering.changed();
      port_.raise(make_event("notice", {{"text", "the run begins as soon as there is " + missing}}));
    }
    return false;
  }
  run_.membership->admission().drop_expected();
  form();
  if (run_.phase != CoordinatorPhase::forming && run_.view.replicas.size() < run_.setup.job.cluster.replicas)
    port_.raise(
        make_event("notice", {{"text", "the run begins with " + std::to_string(run_.view.replicas.size()) +
                                           " of " + std::to_string(run_.setup.job.cluster.replicas) +
                                           " replicas, for cluster.start_patience is over; others may "
                                           "join it later"}}));
  return true;
}

void Arrivals::report_waiting() {
  if (!run_.setup.start_is_bounded || run_.end.decided() || run_.phase != CoordinatorPhase::forming) return;
  const auto& cluster = run_.setup.job.cluster;
  port_.raise(make_event("waiting",
                         {{"replicas", number(cluster.replicas)},
                          {"loaders", number(cluster.loaders)},
                          {"patience_ms", milliseconds(Gathering::kPatienceTimes * cluster.start_patience)},
                          {"patience_times", number(Gathering::kPatienceTimes)}}));
}

// Those who are here wait for the others.
bool Arrivals::fail_for_missing() {
  const Admission& admission = run_.membership->admission();
  const auto is_free = [&](bool loader) {
    const auto [here, places] = admission.arrived(loader);
    return here < places;
  };
  if (!run_.setup.start_is_bounded || run_.end.decided() || run_.phase != CoordinatorPhase::forming ||
      run_.unknown_members_may_come() || run_.gathering.tries_to_begin_anew() ||
      (!is_free(false) && !is_free(true)))
    return false;
  const bool begins_without =
      run_.gathering.has_free_place() && run_.membership->views().missing_to_begin().empty();
  const auto patience = Gathering::kPatienceTimes * run_.setup.job.cluster.start_patience;
  if (begins_without || !run_.gathering.nobody_comes(patience) || canary("start-has-no-end")) return false;
  ending_.fail(why_not_begun(run_.setup.job, *run_.membership));
  return true;
}

}  // namespace muster
