// What the simulated network draws: how long things take, and what is lost. Two of the same seed draw the
// same, as long as they are asked the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "transport/simulated/network.hpp"

namespace muster::simulated {

class Chance {
 public:
  using Time = std::chrono::nanoseconds;

  Chance(std::uint64_t seed, const SimulatedNetworkOptions& options);

  /// Between these two, both included.
  Time between(Time min, Time max);
  Time hop() { return between(options_.delay_min, options_.delay_max); }
  /// Until something that stands still ends its connection.
  Time stall() { return between(options_.stall_min, options_.stall_max); }
  /// Until something is sent again.
  Time again() { return between(options_.delay_min, options_.again_max); }
  /// Until the other end of a connection learns that it was cut.
  Time notice() { return between(options_.delay_min, options_.notice_max); }
  bool coin() { return (random_() & 1) != 0; }
  /// Of a share of all that ask. Draws nothing for a share of 0.
  bool happens(double share);

  /// How long so many bytes take on a path; `disturbance`: null if nothing is wrong with it.
  Time path_time(std::uint64_t bytes, const Disturbance* disturbance);

 private:
  SimulatedNetworkOptions options_;
  // The engine is the same everywhere; the distributions of the standard library are not.
  std::mt19937_64 random_;
};

}  // namespace muster::simulated
