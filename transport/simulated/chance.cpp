#include "transport/simulated/chance.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::simulated {

using std::chrono::nanoseconds;

Chance::Chance(std::uint64_t seed, const SimulatedNetworkOptions& options)
    : options_(options), random_(seed) {
  MUSTER_CHECK(options.delay_min.count() >= 0 && options.delay_min <= options.delay_max, "delay_max",
               options.delay_max.count());
  MUSTER_CHECK(options.bandwidth > 0, "bandwidth", options.bandwidth);
}

nanoseconds Chance::between(nanoseconds min, nanoseconds max) {
  const auto span = static_cast<std::uint64_t>(std::max(max - min, nanoseconds(0)).count()) + 1;
  return min + nanoseconds(static_cast<std::int64_t>(random_() % span));
}

bool Chance::happens(double share) {
  constexpr std::uint64_t kParts = 1 << 20;
  return share > 0 && static_cast<double>(random_() % kParts) < share * kParts;
}

nanoseconds Chance::path_time(std::uint64_t bytes, const Disturbance* disturbance) {
  nanoseconds time =
      hop() + nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / options_.bandwidth * 1e9));
  if (disturbance == nullptr) return time;
  time = nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * disturbance->slower));
  if (happens(disturbance->loss)) time += again();
  return time;
}

}  // namespace muster::simulated
