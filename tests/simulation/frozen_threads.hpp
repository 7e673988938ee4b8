// Threads of one process that stand still while its others run: a read that does not come back, a hung disk,
// a driver call that blocks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::simulation {

class FrozenThreads {
 public:
  using Action = std::function<void()>;

  void freeze(const std::string& thread) { held_.try_emplace(thread); }
  /// What the thread would have done meanwhile, in order.
  std::vector<Action> thaw(const std::string& thread) {
    const auto frozen = held_.extract(thread);
    return frozen ? std::move(frozen.mapped()) : std::vector<Action>{};
  }
  bool stands_still(const std::string& thread) const { return held_.contains(thread); }
  /// Whether the thread stands still; then it does this when it is thawed.
  bool holds(const std::string& thread, Action action) {
    const auto frozen = held_.find(thread);
    if (frozen == held_.end()) return false;
    frozen->second.push_back(std::move(action));
    return true;
  }

 private:
  std::map<std::string, std::vector<Action>> held_;
};

}  // namespace muster::simulation
