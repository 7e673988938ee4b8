// The coordinator, as a node sees it: its silence, its death, and the one that comes after it.
#include "muster/actors/job_hash.hpp"
#include "muster/actors/node.hpp"
#include "muster/actors/replica.hpp"

namespace muster {

void NodeState::notice(const std::string& text) const {
  if (parts_.on_notice) parts_.on_notice(parts_.name.text() + ": " + text);
}

void NodeState::on(const Pulse& message) {
  if (message.term < term_) return;
  term_ = message.term;
  pulse_ = self_->clock().now();
  if (std::exchange(silence_said_, false)) notice("the coordinator is heard again");
}

// A coordinator that is cut off goes on with those that it hears; here no step can end without them.
void NodeState::look_for_silence() {
  const auto silence = self_->clock().now() - pulse_;
  if (silence_said_ || silence < job_->cluster.detect.patience) return;
  silence_said_ = true;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence).count();
  notice("no word from the coordinator for " + std::to_string(ms) +
         " ms. It goes on with those that it hears; here no step is applied without all members of view " +
         std::to_string(view_.number) + ", and without it none is replaced");
}

void NodeState::on(const NewCoordinator& message) {
  parts_.coordinator = message.coordinator;
  self_->monitor(parts_.coordinator);
  pulse_ = self_->clock().now();
  Adopt adopt;
  adopt.join = join_;
  adopt.join.name = parts_.name;
  adopt.join.joins = true;
  adopt.join.device = welcome_.device;
  adopt.prepared = prepared_;
  adopt.term = term_;
  adopt.view = view_.number;
  adopt.begun = begun_;
  adopt.job_hash = job_hash(*job_, parts_.registry.declarations());
  self_->send(parts_.coordinator, std::move(adopt));
}

// It knows nothing of what the one before was told, or was told when it was gone already.
void NodeState::on(const Adopted& message) {
  term_ = std::max(term_, message.term);
  notice("the coordinator is found again (term " + std::to_string(term_) + ")");
  if (failure_) self_->send(parts_.coordinator, *failure_);
  if (unlike_) self_->send(parts_.coordinator, *unlike_);
  for (const auto& [peer, complaint] : complaints_) self_->send(parts_.coordinator, complaint);
  if (leaving_) self_->send(parts_.coordinator, *leaving_);
  if (replica_) self_->send(replica_, message);
}

}  // namespace muster
