// What the tests of libtorch's models share: a model's state and gradients, on the host and on a GPU.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "muster/model.hpp"
#include "tests/unit/gpu/batches.hpp"

namespace muster::testing_support {

inline std::vector<float> initial(Model& model, std::uint64_t seed = 7) {
  std::vector<float> state(model.layout().total());
  model.initialize(seed, state);
  return state;
}

inline std::vector<float> gradient_of(Model& model, std::span<const float> state, const Batch& batch,
                                      const StepKey& key = {}) {
  std::vector<float> gradient(state.size(), std::nanf(""));
  model.gradient(state, batch, key, gradient);
  return gradient;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  const auto left = std::as_bytes(a), right = std::as_bytes(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

/// Of int64 tokens; all rows are equally long.
inline Batch token_batch(const std::vector<std::vector<std::int64_t>>& rows, std::uint32_t padding = 0) {
  const auto columns = static_cast<std::int64_t>(rows[0].size());
  Tensor tensor{DType::int64, {static_cast<std::int64_t>(rows.size()), columns}, {}};
  for (const auto& row : rows) {
    const auto bytes = std::as_bytes(std::span(row));
    tensor.bytes.insert(tensor.bytes.end(), bytes.begin(), bytes.end());
  }
  return Batch{static_cast<std::uint32_t>(rows.size()) - padding, padding, {std::move(tensor)}};
}

/// Memory of a device, "cpu" or "cuda:K", filled from the host and read back to it.
class DeviceFloats {
 public:
  DeviceFloats(const std::string& device, std::size_t count)
      : values_(at::full({static_cast<std::int64_t>(count)}, std::nanf(""),
                         at::TensorOptions(at::kFloat).device(at::Device(device)))) {}
  DeviceFloats(const std::string& device, std::span<const float> from) : DeviceFloats(device, from.size()) {
    values_.copy_(at::from_blob(const_cast<float*>(from.data()), values_.sizes(), at::kFloat));
  }

  std::span<float> span() const {
    return {values_.data_ptr<float>(), static_cast<std::size_t>(values_.numel())};
  }
  /// Behind all that is on the device's default stream.
  std::vector<float> read(std::size_t begin, std::size_t count) const {
    const at::Tensor host =
        values_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count))
            .to(at::kCPU)
            .contiguous();
    return {host.data_ptr<float>(), host.data_ptr<float>() + count};
  }
  std::vector<float> read() const { return read(0, span().size()); }

 private:
  at::Tensor values_;
};

/// As those above, for a model on any device; states and gradients are handed over on the host.
inline std::vector<float> initial_on(const std::string& device, Model& model, std::uint64_t seed = 7) {
  const DeviceFloats state(device, model.layout().total());
  model.initialize(seed, state.span());
  return state.read();
}

struct Grads {
  std::vector<float> values;
  Metrics metrics;
};

inline Grads grads_on(const std::string& device, Model& model, std::span<const float> state,
                      const Batch& batch, const StepKey& key = {}) {
  const DeviceFloats from(device, state), to(device, state.size());
  const Metrics metrics = model.gradient(from.span(), batch, key, to.span());
  return {to.read(), metrics};
}

/// Tests that run on the host, and on the first GPU where there is one that libtorch can use.
class OnDevices : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const DeviceInventory here = discover_devices();
    if (GetParam().starts_with("cuda") && here.cuda_devices == 0) GTEST_SKIP() << here.cuda_reason;
  }
  const std::string& device() const { return GetParam(); }
};

inline std::string device_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.starts_with("cuda") ? "Gpu" : "Host";
}

}  // namespace muster::testing_support
