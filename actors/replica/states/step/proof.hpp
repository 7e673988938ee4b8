// Whose gradients were compared with another replica's, and up to which step. All members of a view count
// alike, from the same records. A pure rule. For one thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "actors/messages/view.hpp"
#include "actors/rules/steps/audit.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class Proof {
 public:
  void enter(const View& view, std::uint32_t self);
  /// This replica is given another state: what it computes from it is compared anew.
  void forget_own() { proven_ = false; }
  /// Whether this replica's gradients were compared in some view since then.
  bool own() const { return proven_; }
  /// Slots whose gradients are to be compared in this step.
  std::set<std::uint32_t> to_compare(std::uint64_t step) const;
  /// A step of this view was applied, with these audits. Whether `clean` has changed.
  bool count(const RoundRecord& record, const std::vector<Audit>& audits);
  /// Of the view's replicas, as Member::clean: the last step up to which each was right.
  const std::vector<std::uint64_t>& clean() const { return clean_; }

 private:
  bool note_clean(const RoundRecord& record, const std::vector<Audit>& audits);

  View view_;
  std::uint32_t self_ = 0;
  std::set<std::uint32_t> unproven_;  // slots
  bool proven_ = false;
  std::vector<std::uint64_t> clean_;
};

}  // namespace muster
