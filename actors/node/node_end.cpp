// How a node ends: at once, or when its state is kept.
#include "actors/node/node.hpp"

namespace muster {

void NodeState::on(const Stop& message) {
  if (stopping_) return;
  stopping_ = message;
  if (reports_.leaving()) stopping_->again = false;  // whoever was asked to go does not come back
  if (message.suspect_from != 0 && checkpointer_) checkpointer_->withdraw(message.suspect_from);
  if (!message.keep || !replica_) return on(StateKept{});
  if (reports_.unlike() && job_->cluster.on_corruption != OnCorruption::report)
    return on(StateKept{"no checkpoint is written: " + reports_.unlike()->text + "; the last one stands"});
  self_->send(replica_, KeepState{});
  self_->delayed_send(self_, job_->checkpoint.grace, StateKept{"its state could not be written in time"});
}

void NodeState::on(const StateKept& message) {
  if (!stopping_) return;
  if (!message.text.empty()) notice(message.text);
  if (setup_.on_stop) setup_.on_stop(*stopping_);
  let_go();
  self_->quit(caf::exit_reason::user_shutdown);
}

}  // namespace muster
