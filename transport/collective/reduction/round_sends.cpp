#include "transport/collective/reduction/round_sends.hpp"

#include "base/check.hpp"

namespace muster {

namespace {
// A token names the round and, above it, what is held until the send has ended.
constexpr unsigned kRoundBits = 40;
constexpr SendToken kRoundMask = (SendToken{1} << kRoundBits) - 1;
}  // namespace

void RoundSends::UnderWay::ended(std::uint32_t member) {
  MUSTER_CHECK(all > 0, member);
  --all;
  --to[member];
}

void RoundSends::send(std::uint32_t member, Frame frame, std::span<const std::byte> payload,
                      std::uint64_t round, UnderWay& of_round, Staging::Hold hold) {
  const ReductionMember& self = shape_.members[shape_.self];
  frame.view = shape_.view;
  frame.from = self.peer;
  frame.incarnation = self.incarnation;
  frame.round = round;
  frame.bytes = payload.size();
  ++of_round.all;
  ++of_round.to[member];
  ++under_way_;
  const SendToken held = hold == Staging::kNone ? 0 : SendToken{hold} + 1;
  transport_.send(shape_.members[member].peer, frame, payload, round | held << kRoundBits);
}

std::uint64_t RoundSends::ended(SendToken token) {
  MUSTER_CHECK(under_way_ > 0, token);
  --under_way_;
  if (const SendToken held = token >> kRoundBits; held > 0)
    staging_.release(static_cast<Staging::Hold>(held - 1));
  return token & kRoundMask;
}

}  // namespace muster
