// What can go wrong in a run: a table, one row a kind. A row says how its victims and its length are drawn
// from the seed, and what begins and ends it; a new kind is one row more.
#pragma once

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "tests/simulation/cluster.hpp"

namespace muster::simulation {

/// When a fault begins: so long after the n-th moment of a kind; "start" is the beginning of the run.
struct Moment {
  std::string what =
      "start";  ///< start, commit, close, closed, install, begin, message (of coordinator or node)
  std::uint64_t nth = 1;
  Nanoseconds later{0};
};

struct Fault {
  std::string kind;
  Moment moment;
  std::string a;         ///< the victim
  std::string b;         ///< the other end, or a second victim
  Nanoseconds lasts{0};  ///< 0: for good
  double strength = 1;
  bool both = true;  ///< ways: in both directions

  /// Nodes that may lose their place in the view through it.
  std::set<std::string> costs;

  std::string text() const;
};

/// Chance for the drawing of plans; the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) { random_.discard(8); }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool one_in(std::uint64_t times) { return below(times) == 0; }
  Nanoseconds between(Nanoseconds least, Nanoseconds most) {
    return least + Nanoseconds(static_cast<std::int64_t>(
                       below(static_cast<std::uint64_t>((most - least).count()) + 1)));
  }
  template <class T>
  const T& one_of(const std::vector<T>& of) {
    return of[below(of.size())];
  }

 private:
  std::mt19937_64 random_;
};

/// What a fault is drawn for.
struct Scene {
  const Job& job;
  const ClusterOptions& cluster;
};

/// A short one is over before anybody may be taken for dead: with the time until what was held comes, and a
/// heartbeat's interval, it stays within the patience. A long one is not.
Nanoseconds short_time(Dice& dice, const Scene& scene);
Nanoseconds long_time(Dice& dice, const Scene& scene);

struct FaultKind {
  std::string name;
  std::string meaning;
  /// Draws victims, length and strength; false: there is nothing in this job that it could happen to.
  std::function<bool(Dice& dice, const Scene& scene, Fault& fault)> draw;
  std::function<void(Cluster& cluster, const Fault& fault)> begin;
  std::function<void(Cluster& cluster, const Fault& fault)> end;  ///< null: nothing to mend
};

/// Parts of the table; faults_disk.cpp. They are drawn by draw_ending alone: they need a folder of
/// checkpoints.
std::vector<FaultKind> faults_of_the_coordinator();  // faults_coordinator.cpp
std::vector<FaultKind> faults_of_disks();
std::vector<FaultKind> faults_of_reading();
std::vector<FaultKind> ends();
std::vector<FaultKind> faults_of_errors();   ///< faults_errors.cpp
std::vector<FaultKind> errors_everywhere();  ///< likewise; drawn by draw_ending alone

std::vector<FaultKind> faults_of_frames();  ///< faults_frames.cpp

/// faults_loaders.cpp.
std::vector<FaultKind> faults_of_loaders();

/// The same; faults_bits.cpp. They are drawn by draw_bits alone.
std::vector<FaultKind> faults_of_bits();
constexpr std::uint64_t kByMuch = 1 << 16;  ///< a strength of "odd-later": more than rounding hides

const std::vector<FaultKind>& fault_table();
bool has_fault_kind(const std::string& name);
const FaultKind& fault_kind(const std::string& name);

}  // namespace muster::simulation
