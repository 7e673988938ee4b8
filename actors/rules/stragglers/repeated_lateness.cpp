#include "actors/rules/stragglers/repeated_lateness.hpp"

namespace muster {

bool RepeatedLateness::said(const NodeName& waiter, const NodeName& late, Fault fault, std::uint64_t step,
                            Time now) {
  const auto [at, is_new] = said_.try_emplace({waiter, late, fault}, Said{now, step});
  Said& said = at->second;
  if (!is_new && step > said.step + kStepsRemembered) said.first = now;
  said.step = step;
  return now - said.first >= settles_;
}

}  // namespace muster
