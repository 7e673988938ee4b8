// The update of one step, on the flat parameters. Element-wise, so that its bits do not depend on how the
// vector is cut. Parameters, gradient and state are memory of the optimizer's device, and on a GPU an update
// returns before it is done (see compute_device.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/compute_device.hpp"

namespace muster {

/// Learning rate of a step; a function of the step number alone. Steps count from 1.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double rate(std::uint64_t step) const = 0;
};

/// The update of a whole vector, each time of the same memory: recorded once, and put as a whole at each
/// step. It must not outlive its optimizer.
class SteadyUpdate {
 public:
  virtual ~SteadyUpdate() = default;
  /// The same bits as Optimizer::update.
  virtual void run(std::uint64_t step) = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Applies step `step` (from 1) to the elements [first, first + parameters.size()), with their mean
  /// gradient. However the vector is cut, the bits are the same; each element has one update a step.
  virtual void update(std::uint64_t step, std::size_t first, std::span<float> parameters,
                      std::span<const float> gradient) = 0;
  void update(std::uint64_t step, std::span<float> parameters, std::span<const float> gradient) {
    update(step, 0, parameters, gradient);
  }
  /// What `update` would make of `parameters`; changes nothing else. Any thread, but not while another one
  /// updates these elements.
  virtual void foretell(std::uint64_t step, std::size_t first, std::span<float> parameters,
                        std::span<const float> gradient) const = 0;

  /// Records the update of all elements. `before`, if there is any, puts what goes in front of it each time:
  /// the norm of the gradient and its clipping, say (see ComputeDevice::record).
  virtual std::unique_ptr<SteadyUpdate> steady(std::span<float> parameters, std::span<const float> gradient,
                                               const std::function<void()>& before = {}) = 0;

  virtual ComputeDevice& device() const = 0;

  /// State as flat vectors of the parameters' size, by name ("momentum"; "exp_avg", "exp_avg_sq"), in memory
  /// of the device: device().copy_out and copy_in reach it everywhere. May be empty.
  struct Slot {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<Slot> slots() = 0;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  ///< true: AdamW (Loshchilov and Hutter 2019); false: Adam (Kingma and Ba 2015),
                           ///< decay in the gradient
};

struct ScheduleOptions {
  enum class Kind { constant, step, cosine, warm_up } kind = Kind::constant;
  double initial = 0.01;
  std::uint64_t warm_up = 0;
  std::uint64_t every = 0;
  double factor = 0.1;
  std::uint64_t steps = 0;
  double final_rate = 0;
};

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);
std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, std::shared_ptr<const Schedule> schedule,
                                    std::size_t count,
                                    std::shared_ptr<ComputeDevice> device = make_host_device());
std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, std::shared_ptr<const Schedule> schedule,
                                     std::size_t count,
                                     std::shared_ptr<ComputeDevice> device = make_host_device());

}  // namespace muster
