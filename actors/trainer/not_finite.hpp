// Whether the numbers of a step are finite. What is looked at is the same bits on all replicas: the losses,
// and the result of the reduction. So all come to the same verdict, before any of them applies the step.
//
// Where such a number comes from is looked for, too: in the samples first, then in weights and losses that
// have grown. A shard whose loss is not finite says with the loss whether its samples are, so all replicas
// know. Where a gradient alone is not finite, each knows it of its own samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/messages/messages.hpp"
#include "gpu/compute_device.hpp"
#include "muster/model.hpp"
#include "muster/progress.hpp"

namespace muster {

struct Job;
struct RoundRecord;
struct ShardMetrics;

/// Looks through vectors of one device, and waits for what it finds. Used by the device's thread.
class FiniteCheck {
 public:
  FiniteCheck() = default;
  explicit FiniteCheck(std::shared_ptr<ComputeDevice> device);

  /// `values`: memory of the device; everything that was put on it before is done when this returns.
  /// `metrics`: of the step's shards.
  NotFinite look(std::span<const float> values, const std::vector<ShardMetrics>& metrics) const;

 private:
  std::shared_ptr<ComputeDevice> device_;
  DeviceArray<std::uint64_t> first_;
  PinnedArray<std::uint64_t> first_on_host_;
};

/// A NaN or Inf in the samples of a shard's micro-batch.
struct BadSample {
  std::uint32_t shard = 0;
  std::uint32_t row = 0;    ///< of the micro-batch
  std::uint32_t field = 0;  ///< of the source
  double value = 0;

  bool operator==(const BadSample&) const = default;
};

/// Where what is not finite comes from, as far as is known.
struct NotFiniteCause {
  std::optional<BadSample> sample;
  bool samples_are_finite = false;  ///< all that could be the cause were looked at
  double weights_grew = 1;          ///< their root mean square before the step, over that at the beginning
  double loss_grew = 1;             ///< that of the last step, over the least one
};

/// What a cause is looked for in. Used by the thread that computes; cause() by who has heard of its finding.
class CauseFinder {
 public:
  /// Remembers how large the weights are that a job begins with. Vectors are memory of the device.
  void begin(ComputeDevice& device, std::span<const float> weights);
  /// Remembers the loss of a step that was applied.
  void applied(const RoundRecord& record);

  /// `weights`: those before the step of which something is not finite.
  void look(ComputeDevice& device, std::span<const float> weights, const std::vector<ShardMetrics>& metrics);
  const NotFiniteCause& cause() const { return cause_; }

 private:
  double weights_at_first_ = 0;  // their root mean square
  // Of a sample; only losses above 0 are remembered.
  std::optional<double> first_loss_;
  double least_loss_ = 0, last_loss_ = 0;
  NotFiniteCause cause_;
};

/// What ShardMetrics::bad_sample says of a micro-batch whose loss is `loss`: 0 if that is finite, or all
/// samples are.
std::uint32_t bad_sample_of(const Batch& batch, double loss);

/// Looks at the samples of a step where that is not known yet. `items`: of this replica's shards; those of
/// another step are passed over.
void look_at_samples(const std::vector<Item>& items, const RoundRecord& record, NotFiniteCause& cause);

/// The event `not_finite`. `layout`: of the vector that was looked through.
Event not_finite_event(const NotFinite& found, const NotFiniteCause& cause, const RoundRecord& record,
                       const Job& job, const Layout& layout, const DataFacts& facts);
/// Why the run ends; of such an event.
std::string not_finite_reason(const Event& event);

}  // namespace muster
