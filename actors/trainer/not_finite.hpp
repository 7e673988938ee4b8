// Whether the numbers of a step are finite. What is looked at is the same bits on all replicas: the losses,
// and the result of the reduction. So all come to the same verdict, before any of them applies the step.
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

/// The event `not_finite`. `layout`: of the vector that was looked through.
Event not_finite_event(const NotFinite& found, const RoundRecord& record, const Job& job,
                       const Layout& layout);
/// Why the run ends; of such an event.
std::string not_finite_reason(const Event& event);

}  // namespace muster
