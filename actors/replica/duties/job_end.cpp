#include "actors/replica/duties/job_end.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "gpu/optimizer/state_hash.hpp"

namespace muster {

namespace {

constexpr std::size_t kHashedAtOnce = std::size_t{1} << 24;  // elements: 64 MiB, a tenth of a second or so

}  // namespace

// In the view before it may have been another one who wrote, or of another history, whose checkpoints may
// count no more.
void JobEnd::begin() {
  context_.show(Activity::updating);
  const bool writes = context_.setup.checkpoints && context_.speaks();
  const bool gives = context_.setup.checkpoints && context_.in_parts() && !context_.speaks();
  if (gives) parts_.give_for_checkpoint();
  if (const Written* written = checkpoints_.of_the_end(); written && !gives)
    return report(written->state_sha256, written->path);
  writes ? checkpoints_.take_snapshot(SnapshotUse::last_checkpoint) : hash();
}

void JobEnd::hash() const {
  context_.compute([](TrainerState& trainer) {
    const auto state = host_state(trainer);
    Sha256 hash;
    for (std::size_t at = 0; at < state.size(); at += kHashedAtOnce) {
      hash.add(std::as_bytes(std::span(state).subspan(at, std::min(kHashedAtOnce, state.size() - at))));
      trainer.progress->moved();
    }
    Hashed hashed;
    hashed.state_sha256 = hash.hex();
    return hashed;
  });
}

void JobEnd::on(const Hashed& message) {
  if (message.turn != context_.turn) return;
  if (!message.error.empty()) return context_.trouble("the weights could not be hashed: " + message.error);
  report(message.state_sha256, {});
}

void JobEnd::report(const std::string& state_sha256, const std::string& checkpoint) {
  context_.show(Activity::idle);
  ReplicaDone done;
  done.slot = context_.setup.slot;
  done.steps = context_.schedule().steps();
  done.samples = context_.position->samples();
  done.state_sha256 = state_sha256;
  done.phases = times_.phases();
  done.traffic = times_.traffic();
  done.algorithm = text_of(context_.assignment.algorithm);
  if (context_.schedule().ran_out())
    done.steps_asked = static_cast<std::int64_t>(*context_.job().train.steps);
  done.checkpoint = checkpoint;
  done.epochs = context_.position->told();
  for (EpochEnd& epoch : done.epochs) epoch.view = context_.view().number;
  done_ = done;
  context_.port->to_node(done);
}

void JobEnd::report_again() const {
  if (done_ && !context_.phase.is_halted()) context_.port->to_node(*done_);
}

}  // namespace muster
