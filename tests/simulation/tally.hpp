// How often each fault and each rare branch was seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace muster::simulation {

class Tally {
 public:
  void count(const std::string& what, std::uint64_t times = 1) { counts_[what] += times; }
  void add(const Tally& other) {
    for (const auto& [what, times] : other.counts_) counts_[what] += times;
  }
  std::uint64_t of(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace muster::simulation
