// The last record that a replica has taken, and where its mean gradient is. Who misses the record can be
// given it for as long as its mean is whole. Pure. For one thread at a time.
#pragma once

#include <memory>
#include <utility>

#include "actors/trainer/gradient_memory.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class LastRecord {
 public:
  using Record = std::shared_ptr<const RoundRecord>;

  void take(Record record, MeanIs mean) {
    record_ = std::move(record);
    mean_ = mean;
    whole_ = mean != MeanIs::in_sums;
  }
  /// It is not held after all, or another state is in place.
  void forget() { record_.reset(); }
  /// A later round writes into the mean's place.
  void mean_is_overwritten() { whole_ = false; }

  const Record& record() const { return record_; }  ///< null: none
  MeanIs mean() const { return mean_; }
  /// Whether the record has a mean: it is a step that changed the weights.
  bool is_step() const { return record_->kind == RoundKind::train && record_->weight != 0; }
  /// Whether it can be given to others.
  bool whole() const { return record_ && (whole_ || !is_step()); }

 private:
  Record record_;
  MeanIs mean_ = MeanIs::in_gradient;
  bool whole_ = false;
};

}  // namespace muster
