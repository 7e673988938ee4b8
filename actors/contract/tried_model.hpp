// A model under a contract check, and what is known of it from the calls that were made.
#pragma once

#include <optional>
#include <string>

#include "actors/contract/breach.hpp"
#include "actors/contract/guarded_vector.hpp"
#include "actors/contract/model_check.hpp"

namespace muster {

class TriedModel {
 public:
  explicit TriedModel(const ModelTrial& trial);

  const ModelTrial& trial() const { return trial_; }
  /// The trial's, with NaN behind its samples.
  const Batch& batch() const { return batch_; }
  const Layout& layout() const { return layout_; }
  Breach broken(const std::string& check, const std::string& found, const std::string& likely) const;
  std::string element(std::size_t index) const;

  /// That of step 1, with which all checks are made but those of random numbers.
  StepKey first_key() const { return {trial_.seed, 1, 1, 0}; }
  /// The same step with another seed for each number, from 1 on.
  StepKey other_key(std::uint64_t number) const;

  /// Into a buffer full of `before`.
  Metrics gradient(const Batch& batch, GuardedFloats& into, const StepKey& key,
                   float before = GuardedFloats::poison()) {
    into.fill(before);
    return trial_.model.gradient(trial_.state, batch, key, into.span());
  }

  /// The first call of all, of the trial's batch with the first key.
  void compute_first();
  bool has_first() const { return computed_; }
  const GuardedFloats& first() const { return first_; }
  const Metrics& metrics() const { return metrics_; }

  /// Whether random numbers of the key have a say in the gradient of the trial's batch: found by the calls
  /// with other keys, many, for some models draw seldom. Calls it when it must be known, and remembers.
  bool draws(const ContractLog& log);

  /// What is wrong is so by much; rounding is not, in float32. Of samples in bfloat16, or of samples that
  /// mix, only a mean can be told from what is right.
  bool is_exact() const { return !trial_.bfloat16 && !trial_.model.mixes_samples(); }

 private:
  const ModelTrial& trial_;
  const Layout& layout_;
  const Batch batch_;
  GuardedFloats first_;
  Metrics metrics_;
  bool computed_ = false;
  std::optional<bool> draws_;
};

bool same_bits(std::span<const float> one, std::span<const float> other);
/// As a person would write it: 6 digits.
std::string figure(double value);

}  // namespace muster
