// What a replica is given: a newcomer the state of its donor and the records that follow it, a member the
// records that it misses. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/catch_up.hpp"

namespace muster {

class StateReceiver {
 public:
  explicit StateReceiver(const ReplicaContext& context) : context_(context) {}

  const CatchUp& catch_up() const { return catch_up_; }
  /// Outside the view: the donor gives it everything.
  void observe(PeerId donor) { catch_up_.observe(donor); }
  void stop_observing() { catch_up_.stop_observing(); }
  /// A member of the view at hand.
  void join() { catch_up_.join(context_.records(), context_.view().records); }
  /// The state is one that all members have.
  void not_behind() { catch_up_.not_behind(); }

  /// A record, which is kept, or a state, which is read at once. Whether `next` may have something to do.
  [[nodiscard]] bool take(const TransferIn& message);
  /// The state that it was given is in place.
  void state_is_in_place() { catch_up_.state_is_in_place(); }

  struct Next {
    std::shared_ptr<const RoundRecord> record;  ///< to be applied now: its mean is in the gradient
    bool goes_on = false;                       ///< a member that misses nothing any more
  };
  /// What comes next of what was given. Tells the donor what is applied, and the node that it has caught up.
  Next next();

 private:
  void restore(const CatchUp::Payload& payload) const;
  std::shared_ptr<const RoundRecord> read(std::span<const std::byte> record) const;

  const ReplicaContext& context_;
  CatchUp catch_up_;
};

}  // namespace muster
