#include "actors/replica/duties/rollback.hpp"

#include <string>
#include <utility>

#include "actors/events/event.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// One that is not on the job's way: train.steps or the data were others when it was written.
std::string why_not_from(RoundSchedule schedule, const ReplicaPlace& place) {
  return schedule.resume(place.cursor, place.steps, place.finished, place.ledger.rows(), place.deferred);
}

}  // namespace

void StateRollback::begin(const DiskTries& tries) {
  const PartSource& source = context_.view().source;
  const std::shared_ptr<Checkpointer>& checkpoints = context_.setup.checkpoints;
  const bool is_here = source.checkpoint.empty() || (from_ && from_->place.records == source.records);
  context_.show(is_here ? Activity::updating : Activity::restoring);
  const auto restore = [compute = context_.setup.compute, trainer = context_.setup.trainer,
                        post = context_.port->posts_answers(), turn = context_.turn, tries,
                        ticket = replacement_.ask()](std::shared_ptr<const Snapshot> snapshot,
                                                     const std::string& why, Unread unread) {
    compute->submit([trainer, post, turn, tries, ticket, snapshot = std::move(snapshot), why, unread] {
      if (!ticket->begin()) return;
      Restored restored{turn, nullptr, snapshot ? std::string() : why, unread, tries};
      if (snapshot) restored.place = std::make_shared<const ReplicaPlace>(snapshot->place);
      try {
        if (snapshot) go_back_to(*trainer, *snapshot);
      } catch (const std::exception& error) {
        restored.error = error.what();
      }
      post(std::move(restored));
    });
  };
  if (context_.view().back && checkpoints) checkpoints->set_aside(source.step, context_.view().history - 1);
  if (source.checkpoint.empty()) return restore(std::make_shared<const Snapshot>(), {}, Unread::no);
  if (is_here) return restore(from_, {}, Unread::no);
  if (!checkpoints)
    return restore(nullptr, "it has no folder with " + source.checkpoint + " to go back to", Unread::no);
  const auto done = [restore, name = source.checkpoint, schedule = context_.schedule()](
                        auto snapshot, auto why, Unread unread) {
    if (snapshot) why = why_not_from(schedule, snapshot->place);
    restore(why.empty() ? std::move(snapshot) : nullptr, "it cannot go back to " + name + ": " + why, unread);
  };
  checkpoints->read(source.checkpoint, tries.last, done);
}

StateRollback::Outcome StateRollback::on(const Restored& message) {
  replacement_.end();
  if (tries_again(message)) return Outcome::pending;
  if (!message.error.empty() && canary("cannot-go-back-is-lost")) {
    context_.trouble(message.error);
    return Outcome::pending;
  }
  context_.port->to_node(WentBack{{}, context_.view().number, message.error, message.unread});
  if (!message.error.empty()) return Outcome::failed;
  replacement_.in_place();
  return Outcome::in_place;
}

// A folder that cannot be reached for a while is no reason to go back further, or to lose this replica.
bool StateRollback::tries_again(const Restored& message) const {
  if (message.unread != Unread::refused || context_.phase.is_halted() || canary("reads-once")) return false;
  DiskTries tries = message.tries;
  const std::chrono::nanoseconds now = context_.now();
  if (++tries.refused == 1) tries.since = now;
  const auto wait =
      disk_again_in(disk_wait(tries.refused), now - tries.since, context_.job().cluster.give_up_after);
  if (!wait && std::exchange(tries.last, true)) return false;
  if (tries.refused == 1)
    context_.raise(make_event("notice", {{"text", message.error + "; it tries again"}}));
  context_.port->to_self(wait.value_or(std::chrono::nanoseconds(0)), ReadAgain{context_.turn, tries});
  return true;
}

}  // namespace muster
