// Payloads that are read where their sender has them, as between processes of one host (transport.hpp).
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "transport/simulated/core.hpp"

namespace muster::simulated {

namespace {

// What a sender does with memory that is its own again: finite numbers of no meaning.
void use_for_other_things(std::vector<std::byte>& memory) {
  std::ranges::fill(memory, std::byte{0x3f});
}

}  // namespace

// What a sender wrote into shared memory stays there when it lets go; its receiver reads it until it hears of
// that.
bool Core::lies_in_memory(const Link& link) const {
  if (!options_.supports_borrowing || link.severed_by_receiver) return false;
  const auto back = other_side(link);
  return back && back->state == Link::State::open;
}

// Whether the receiver borrows it. That of a sender which has let go of the connection is revoked from
// the beginning; one that is dead changes nothing any more.
bool Core::offer(const std::shared_ptr<Transfer>& transfer) {
  const Link& link = *transfer->link;
  if (!options_.supports_borrowing || small(*transfer) || link.severed_by_receiver) return false;
  const bool revoked = link.owner->alive && link.state != Link::State::open;
  if (!revoked && !link.unsent.contains(transfer->number)) return false;  // the sender has its buffer back
  const std::vector<std::byte> sent = transfer->payload;
  if (revoked) use_for_other_things(transfer->payload);
  borrows_[transfer->number] = {transfer, revoked, false};
  ++counts_.borrowed;
  if (link.remote->sink->arrived_in_place(transfer->frame, transfer->payload,
                                          {link.owner->number, transfer->number}))
    return true;
  borrows_.erase(transfer->number);
  --counts_.borrowed;
  transfer->payload = sent;  // it had been copied in time
  return false;
}

bool Core::stands(std::uint64_t borrow) const {
  const auto found = borrows_.find(borrow);
  MUSTER_CHECK(found != borrows_.end(), borrow);
  return !found->second.revoked;
}

void Core::give_back(std::uint64_t borrow) {
  const auto found = borrows_.find(borrow);
  MUSTER_CHECK(found != borrows_.end(), "given back twice: borrowed buffer", borrow);
  const BorrowedSend borrowed = std::exchange(found->second, {});
  borrows_.erase(found);
  if (!borrowed.report_waits) return;
  after_(chance_.hop(), [self = shared_from_this(), link = borrowed.transfer->link, borrow] {
    self->report(link, borrow, true);
  });
}

// The owner has let go of the connection: from now on its memory is used for other things.
void Core::revoke_borrows(const Link& link) {
  for (auto& [number, borrowed] : borrows_) {
    if (borrowed.transfer->link.get() != &link || std::exchange(borrowed.revoked, true)) continue;
    if (link.remote->alive) ++counts_.revoked;
    use_for_other_things(borrowed.transfer->payload);
  }
}

}  // namespace muster::simulated
