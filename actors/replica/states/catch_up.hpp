// What a replica was given and has not applied yet: a newcomer outside the view is given the donor's state
// and the records that follow it; a member that misses records of the view before is given these. Pure: it
// says what comes next; whoever holds it applies it. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace muster {

class CatchUp {
 public:
  using Payload = std::shared_ptr<const std::vector<std::byte>>;  ///< an encoded record, or state

  /// Outside the view: `donor` gives it everything.
  void observe(PeerId donor);
  /// A member of a view in which the others have so many records; this one has `records`.
  void join(std::uint64_t records, std::uint64_t needed);
  void stop_observing() { observing_ = false; }
  bool observing() const { return observing_; }
  bool behind() const { return behind_; }
  void not_behind() { behind_ = false; }
  PeerId donor() const { return donor_; }
  /// In a pause of the view another donor may have given it something.
  bool refuses(PeerId from) const { return observing_ && from != donor_; }

  /// A record or a state arrived; the giver has so many later ones.
  void arrived(std::uint64_t number, std::uint32_t waiting);
  /// Whether to apply the state that arrived: the first one of this donor.
  bool takes_state() { return observing_ && !std::exchange(given_, true); }
  void state_is_in_place() { restored_ = true; }
  bool has_state() const { return restored_; }
  /// False: more were given than the giver's window allows.
  [[nodiscard]] bool keep(std::uint64_t number, const Payload& record);

  struct Next {
    bool acknowledge = false;  ///< tell the donor how many records are applied here
    Payload apply;             ///< the next record; null: it has not arrived
    bool caught_up = false;    ///< a member: goes on; a newcomer: says so
  };
  /// What to do with so many records applied.
  Next next(std::uint64_t records);

 private:
  bool catches_up_with(std::uint64_t records);

  bool observing_ = false;
  bool behind_ = false;
  std::uint64_t needed_ = 0;
  PeerId donor_ = 0;
  bool given_ = false;     // the state has arrived
  bool restored_ = false;  // it is in place
  std::map<std::uint64_t, Payload> pending_;
  std::uint64_t acknowledged_ = 0;
  std::optional<std::uint64_t> said_;  // with as many records it has said that it has caught up
  std::uint64_t newest_ = 0;           // of what has arrived
  bool more_waits_ = false;            // behind that, at the donor
};

}  // namespace muster
