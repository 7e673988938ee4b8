#include "actors/replica/states/part_deal.hpp"

namespace muster {

// A view took effect if somebody took a record of it, whether this replica did or not: then all have its
// parts. Else what was held before it is what counts.
PartDeal::Entry PartDeal::enter(const PartSource& source, std::uint32_t view) {
  Entry entry;
  entry.next_counts = source.view != 0 && source.view == next_ && took_ != next_;
  entry.has_none = source.view == 0 || (!entry.next_counts && source.view != took_);
  if (entry.next_counts) took_ = next_;
  next_ = view;
  done_ = begun_ = given_ = complete_ = false;
  at_work_ = 1;
  return entry;
}

bool PartDeal::begin() {
  if (std::exchange(begun_, true)) return false;
  ask();
  return true;
}

PartDeal::Step PartDeal::worked(bool gave, bool complete) {
  --at_work_;
  given_ |= gave;
  complete_ |= complete;
  if (done_ || !given_) return Step::none;
  if (!complete_) return Step::lacks;
  done_ = true;
  return Step::done;
}

}  // namespace muster
