#include "transport/collective/engine/demand_book.hpp"

namespace muster {

namespace {

// Of a demand or its answer.
template <typename Body>
std::pair<std::uint32_t, std::uint64_t> key_of(const Body& body) {
  return {body.shard, body.ticket};
}

}  // namespace

void DemandBook::enter() {
  asked_.clear();
  owed_.clear();
}

void DemandBook::asked(PeerId loader, const DemandBody& demand, Time now) {
  Asked& of = asked_[loader];
  of.demands[key_of(demand)] = demand;
  of.last = now;
}

void DemandBook::answered(PeerId loader, const BatchBody& batch) {
  const auto found = asked_.find(loader);
  if (found == asked_.end()) return;
  found->second.demands.erase(key_of(batch));
  if (found->second.demands.empty()) asked_.erase(found);
}

std::vector<PeerId> DemandBook::waited_for() const {
  std::vector<PeerId> loaders;
  for (const auto& [loader, asked] : asked_) loaders.push_back(loader);
  return loaders;
}

std::optional<DemandBook::Time> DemandBook::asked_at(PeerId loader) const {
  const auto found = asked_.find(loader);
  if (found == asked_.end()) return std::nullopt;
  return found->second.last;
}

std::vector<DemandBody> DemandBook::unanswered(PeerId loader) const {
  std::vector<DemandBody> demands;
  if (const auto found = asked_.find(loader); found != asked_.end()) {
    for (const auto& [key, demand] : found->second.demands) demands.push_back(demand);
  }
  return demands;
}

bool DemandBook::taken(PeerId asker, const DemandBody& demand) {
  auto& owed = owed_[asker];
  return owed.size() < kOwedMax && owed.insert(key_of(demand)).second;
}

void DemandBook::given(PeerId asker, const BatchBody& batch) {
  if (const auto found = owed_.find(asker); found != owed_.end()) found->second.erase(key_of(batch));
}

std::size_t DemandBook::owed(PeerId asker) const {
  const auto found = owed_.find(asker);
  return found == owed_.end() ? 0 : found->second.size();
}

}  // namespace muster
