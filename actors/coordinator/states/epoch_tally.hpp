// The ends of epochs as replicas report them: each counts the ledger for itself, and they must agree. An
// epoch counts when all have reported it. Pure. For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/messages/epoch_end.hpp"

namespace muster {

class EpochTally {
 public:
  /// Those of a checkpoint that the run goes on from, or of a run that is over.
  void start_with(std::vector<EpochEnd> counted) { counted_ = std::move(counted); }
  /// A replica reports one that does not count yet. The slot of one that has reported it otherwise, if any.
  std::optional<std::uint32_t> take(const EpochEnd& row);
  bool counts(std::uint64_t epoch) const;
  /// Epochs that some have reported, and that do not count yet.
  std::vector<std::uint64_t> open() const;
  bool has_reported(std::uint64_t epoch, std::uint32_t slot) const;
  /// All have reported it: it counts from now on. Nothing: nobody has, or it counts already.
  std::optional<EpochEnd> count(std::uint64_t epoch);
  /// Others may do the steps of this replica again, with other gradients.
  void forget(std::uint32_t slot);
  /// All went back behind this step, and report again what follows it.
  void go_back(std::uint64_t step);

  /// By epoch.
  const std::vector<EpochEnd>& counted() const { return counted_; }

 private:
  std::map<std::uint64_t, std::map<std::uint32_t, EpochEnd>> open_;  // by epoch, by slot
  std::vector<EpochEnd> counted_;
};

}  // namespace muster
