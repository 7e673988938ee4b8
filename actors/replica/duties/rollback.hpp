// A view that goes back to a checkpoint, or to the beginning: parts were lost, or none were dealt yet. The
// checkpoint is read, as often as its disk needs, and replaces the replica's state. For one thread at a time.
#pragma once

#include <memory>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/state_replacement.hpp"

namespace muster {

class StateRollback {
 public:
  explicit StateRollback(const ReplicaContext& context) : context_(context) {}

  const StateReplacement& replacement() const { return replacement_; }

  /// The run goes on from this checkpoint: a view may go back to it without the disk.
  void keep_source(std::shared_ptr<const Snapshot> from) { from_ = std::move(from); }
  /// A record was taken: no view goes back to where the run began.
  void forget_source() { from_.reset(); }

  /// A view begins. In some the state is to be replaced before anything else.
  void enter() {
    const View& view = context_.view();
    replacement_.enter(view.back || (context_.in_parts() && view.source.view == 0));
  }
  /// Has the state replaced. Restored follows.
  void begin(const DiskTries& tries = {});

  enum class Outcome {
    pending,   ///< it is tried again, or the replica cannot go on
    failed,    ///< the replica waits for what the coordinator makes of it
    in_place,  ///< the state of the checkpoint is this replica's
  };
  [[nodiscard]] Outcome on(const Restored& message);

  /// What was asked for is of no use any more.
  void end() { replacement_.end(); }
  /// The state is in place, by this or another way.
  void in_place() { replacement_.in_place(); }
  /// The view is over. True: the state is being replaced at this moment, and Restored will follow.
  bool goes_on() { return replacement_.goes_on(); }

 private:
  bool tries_again(const Restored& message) const;

  const ReplicaContext& context_;
  StateReplacement replacement_;
  std::shared_ptr<const Snapshot> from_;  // until a record is taken
};

}  // namespace muster
