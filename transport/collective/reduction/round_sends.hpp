// What a reduction sends: each frame is signed by this member, and counted until its send has ended. Then
// what it was sent from is free again.
//
// Thread rule: that of the reduction, which it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/collective/sums/staging.hpp"
#include "transport/transport.hpp"

namespace muster {

class RoundSends {
 public:
  /// What of one round is under way.
  struct UnderWay {
    std::size_t all = 0;
    std::vector<std::uint32_t> to;  ///< by member

    /// Nothing is counted any more. Memory stays.
    void reset(std::size_t members) {
      all = 0;
      to.assign(members, 0);
    }
    void ended(std::uint32_t member);
  };

  /// All outlive this object.
  RoundSends(const ReductionShape& shape, Transport& transport, Staging& staging)
      : shape_(shape), transport_(transport), staging_(staging) {}

  /// `payload` stays valid until the send has ended; `hold` is released then (kNone: nothing is held). May
  /// end within the call.
  void send(std::uint32_t member, Frame frame, std::span<const std::byte> payload, std::uint64_t round,
            UnderWay& of_round, Staging::Hold hold = Staging::kNone);
  /// A send has ended. Returns its round, of which it is still to be counted off.
  std::uint64_t ended(SendToken token);
  /// How many are under way, of all rounds.
  std::size_t under_way() const { return under_way_; }

 private:
  const ReductionShape& shape_;
  Transport& transport_;
  Staging& staging_;
  std::size_t under_way_ = 0;
};

}  // namespace muster
