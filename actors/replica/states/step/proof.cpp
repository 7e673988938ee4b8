#include "actors/replica/states/step/proof.hpp"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

bool was_compared(const Audit& audit, const RoundRecord& record) {
  return std::any_of(record.shards.begin(), record.shards.end(), [&](const ShardReport& out) {
    return out.present() && std::count(audit.shards.begin(), audit.shards.end(), out.shard) > 0;
  });
}

}  // namespace

void Proof::enter(const View& view, std::uint32_t self) {
  view_ = view;
  self_ = self;
  unproven_ = {view.unproven.begin(), view.unproven.end()};
  proven_ = !unproven_.contains(self);
  clean_.clear();
  for (const Member& member : view.replicas) clean_.push_back(member.clean);
}

std::set<std::uint32_t> Proof::to_compare(std::uint64_t step) const {
  std::set<std::uint32_t> compared = unproven_;
  if (view_.doubts(step)) {
    for (const Member& member : view_.replicas) compared.insert(member.name.slot);
  }
  return compared;
}

// Members whose gradients were compared in this step, or cannot be, are as good as the others.
bool Proof::count(const RoundRecord& record, const std::vector<Audit>& audits) {
  const bool changed = note_clean(record, audits);
  if (unproven_.empty()) return changed;
  std::erase_if(unproven_, [&](std::uint32_t slot) {
    const auto audit =
        std::find_if(audits.begin(), audits.end(), [&](const Audit& each) { return each.owner == slot; });
    return audit == audits.end() || audit->shards.empty() || was_compared(*audit, record);
  });
  proven_ = !unproven_.contains(self_);
  return changed;
}

// Two replicas had the same gradient of a shard: both are right. Most steps have nothing to tell.
bool Proof::note_clean(const RoundRecord& record, const std::vector<Audit>& audits) {
  bool changed = false;
  const auto set = [&](std::uint64_t& clean, std::uint64_t step) {
    changed |= std::exchange(clean, step) != step;
  };
  for (std::uint64_t& clean : clean_) {
    if (clean == kCleanUntilView) set(clean, record.step - 1);  // its first step
  }
  for (const Audit& audit : audits) {
    if (!was_compared(audit, record)) continue;
    for (std::size_t i = 0; i < view_.replicas.size(); ++i) {
      const std::uint32_t slot = view_.replicas[i].name.slot;
      if (slot == audit.owner || slot == audit.auditor) set(clean_[i], record.step);
    }
  }
  return changed;
}

}  // namespace muster
