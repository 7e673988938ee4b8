#include "actors/coordinator/views/journal_keeper.hpp"

#include <algorithm>

#include "actors/coordinator/records/journal.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// While a disk takes long for each entry, so many newcomers wait for one of them together.
constexpr std::uint32_t kReserved = 16;

}  // namespace

void JournalKeeper::note(const View& view, bool ended) {
  if (!run_.setup.journal || (canary("no-journal") && view.number > 0)) return;
  const bool goes_back = view.back && view.number != run_.view.number;
  try {
    run_.setup.journal->write({run_.setup.job_hash, run_.term.number(), view.number == 0 ? beginning() : view,
                               numbers(), ended, run_.report.completed(), run_.report.steps,
                               run_.report.samples, run_.report.weights_sha256,
                               run_.report.completed() ? run_.epochs.counted() : std::vector<EpochEnd>{},
                               run_.first_view, goes_back ? 0 : checkpoints_.suspects.from(),
                               checkpoints_.suspects.doubt_from(), run_.term.writer()});
    run_.term.noted();
    run_.pending.noted();
  } catch (const TakenOver& error) {
    taken_over(error.what());
    throw;
  }
}

FreeNumbers JournalKeeper::numbers() {
  noted_.beyond(run_.membership->admission().free_numbers());
  return noted_;
}

void JournalKeeper::note_number_of(const NodeName& newcomer) {
  if (!run_.setup.journal) return;
  FreeNumbers there = run_.setup.journal->numbers_there();
  if (newcomer.slot < there.of(newcomer)) return;
  try {
    note(run_.view);
  } catch (const Error&) {
    noted_.beyond(NodeName{newcomer.loader, newcomer.slot + kReserved});
    throw;
  }
}

// Another coordinator has begun with this journal: nodes are told nothing, for they are its members now.
void JournalKeeper::taken_over(const std::string& reason) {
  run_.term.take_over();
  run_.setup.journal.reset();
  if (run_.end.decided()) return;
  run_.end.decide(port_.now());
  connections_.forget_all();
  run_.report.outcome = "failed";
  run_.report.reason = reason;
  port_.raise(make_event("failed", {{"reason", reason}}));
  ending_.finish();
}

// In the journal before the first view: from which checkpoint the run goes on.
View JournalKeeper::beginning() const {
  View view;
  if (run_.setup.resume) view.source.checkpoint = run_.setup.resume->manifest;
  return view;
}

bool JournalKeeper::noted(const View& view) {
  try {
    note(view);
  } catch (const Error& error) {
    if (run_.term.taken_over()) return false;
    if (canary("journal-full-fails")) {
      ending_.fail("the journal cannot be written, so no view can be made: " + std::string(error.what()));
      return false;
    }
    if (view.last) return true;
    run_.phase = CoordinatorPhase::noting;
    journal_refused(view, error.what());
    return false;
  }
  return true;
}

void JournalKeeper::journal_refused(const View& view, const std::string& reason) {
  const auto give_up = run_.setup.job.cluster.give_up_after;
  const auto wait = run_.pending.refuse(view, port_.now(), give_up);
  port_.raise(make_event("journal_delayed", {{"view", number(view.number)},
                                             {"reason", reason},
                                             {"again_ms", milliseconds(wait)},
                                             {"give_up_ms", milliseconds(give_up)}}));
}

// Of a restarted coordinator: its term, or what a member told. Before that is written no member counts as
// back; each asks again.
bool JournalKeeper::note_what_it_lacks() {
  if (!run_.term.journal_is_behind()) return true;
  if (run_.pending.refused_until_later(port_.now())) return false;
  try {
    note(run_.view);
  } catch (const Error& error) {
    if (!run_.term.taken_over()) journal_refused(run_.view, error.what());
    return false;
  }
  return true;
}

// One that is started anew must know of it: who told of it may be lost.
void JournalKeeper::note_suspects() {
  try {
    note(run_.view);
  } catch (const Error&) {
    // The next view is noted, too, and waits for its journal.
  }
}

void JournalKeeper::last_note(bool ended) {
  try {
    note(run_.view, ended);
  } catch (const Error& error) {
    port_.raise(make_event("notice",
                           {{"text", std::string("the journal's last entry is missing: ") + error.what()}}));
  }
}

bool JournalKeeper::is_outdated(const View& view) const {
  if (checkpoints_.suspects.any() && !view.back) return true;
  const auto gone = [this](const Member& member) {
    return !run_.membership->alive(member.name) ||
           (run_.membership->at(member.name).leaving && !run_.view.holds(member.name));
  };
  return std::ranges::any_of(view.replicas, gone) || std::ranges::any_of(view.loaders, gone);
}

void JournalKeeper::give_up_journal() {
  const std::string reason = "the journal could not be written for " +
                             std::to_string(run_.setup.job.cluster.give_up_after.count()) +
                             " ms (cluster.give_up_after), so no view can be made";
  if (run_.term.journal_is_behind())
    return ending_.fail(reason +
                        "; replicas that live keep their state, and go on with this job's coordinator if it "
                        "is started again within cluster.orphan_after");
  if (run_.gathering.tries_to_begin_anew() || !ending_.keep_state("failed", reason))
    ending_.fail(reason);  // nobody has a state yet
}

}  // namespace muster
