#include "actors/replica/states/catch_up.hpp"

#include "transport/collective/transfer/transfer_sender.hpp"

namespace muster {

void CatchUp::observe(PeerId donor) {
  *this = CatchUp{};
  observing_ = true;
  donor_ = donor;
}

void CatchUp::join(std::uint64_t records, std::uint64_t needed) {
  observing_ = false;
  behind_ = records < needed;
  needed_ = needed;
  pending_.clear();
}

void CatchUp::arrived(std::uint64_t number, std::uint32_t waiting) {
  if (number < newest_) return;
  newest_ = number;
  more_waits_ = waiting > 0;
}

bool CatchUp::keep(std::uint64_t number, const Payload& record) {
  if (pending_.size() >= kTransferWindowMax) return false;
  pending_.emplace(number, record);
  return true;
}

CatchUp::Next CatchUp::next(std::uint64_t records) {
  pending_.erase(pending_.begin(), pending_.upper_bound(records));
  Next next;
  next.acknowledge = observing_ && std::exchange(acknowledged_, records) < records;
  if (const auto record = pending_.find(records + 1); record != pending_.end()) {
    next.apply = std::move(record->second);
    pending_.erase(record);
  } else {
    next.caught_up = catches_up_with(records);
  }
  return next;
}

// A newcomer says it again with each record: in a pause those that it lacked before may be what the others do
// not keep. While steps are on their way to it, the view would have to wait for it.
bool CatchUp::catches_up_with(std::uint64_t records) {
  if (observing_) return !more_waits_ && pending_.empty() && std::exchange(said_, records) != records;
  if (records < needed_) return false;
  behind_ = false;
  return true;
}

}  // namespace muster
