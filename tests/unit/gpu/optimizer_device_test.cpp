// The optimizers on every device that is there: the bits are those of the host, step by step.
#include <gtest/gtest.h>

#include "gpu/optimizer/optimizer.hpp"
#include "tests/unit/gpu/operations.hpp"

namespace muster::test {
namespace {

constexpr std::size_t kCount = 20011;

struct Kind {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(std::size_t count, std::shared_ptr<ComputeDevice> device);
};

std::shared_ptr<const Schedule> falling() {
  ScheduleOptions options;
  options.kind = ScheduleOptions::Kind::cosine;
  options.initial = 0.05;
  options.steps = 10;
  return make_schedule(options);
}

const Kind kKinds[] = {
    {"sgd",
     [](std::size_t count, std::shared_ptr<ComputeDevice> device) {
       return make_sgd({.momentum = 0, .nesterov = false, .weight_decay = 1e-3}, falling(), count, device);
     }},
    {"momentum",
     [](std::size_t count, std::shared_ptr<ComputeDevice> device) {
       return make_sgd({.momentum = 0.9, .nesterov = false, .weight_decay = 1e-3}, falling(), count, device);
     }},
    {"nesterov",
     [](std::size_t count, std::shared_ptr<ComputeDevice> device) {
       return make_sgd({.momentum = 0.9, .nesterov = true, .weight_decay = 1e-3}, falling(), count, device);
     }},
    {"adam",
     [](std::size_t count, std::shared_ptr<ComputeDevice> device) {
       AdamOptions options;
       options.weight_decay = 0.01;
       return make_adam(options, falling(), count, device);
     }},
    {"adamw",
     [](std::size_t count, std::shared_ptr<ComputeDevice> device) {
       AdamOptions options;
       options.weight_decay = 0.01;
       options.decoupled = true;
       return make_adam(options, falling(), count, device);
     }},
};

Words words_of(const Floats& values) {
  Words words;
  for (const float value : values) words.push_back(word(value));
  return words;
}

class OptimizerOn : public ::testing::TestWithParam<std::tuple<std::string, Kind>> {
 protected:
  const std::shared_ptr<ComputeDevice> device_ = make_compute_device(std::get<0>(GetParam()));
  const Kind kind_ = std::get<1>(GetParam());
  const DeviceFloats parameters_{device_, kCount}, gradient_{device_, kCount};
  const std::unique_ptr<Optimizer> optimizer_ = kind_.make(kCount, device_);
  // The judge.
  Floats host_parameters_ = some_numbers(1, kCount, false);
  const std::unique_ptr<Optimizer> host_ = kind_.make(kCount, make_host_device());

  OptimizerOn() { in(host_parameters_, parameters_.span()); }

  static Floats gradient_of(std::uint64_t step) { return some_numbers(100 + step, kCount, false); }
  void in(const Floats& host, std::span<float> to) {
    device_->copy_in(std::span<const float>(host), to);
    device_->synchronize();
  }
  Floats out(std::span<const float> values) {
    Floats host(values.size());
    device_->copy_out(values, std::span(host));
    device_->synchronize();
    return host;
  }
  void expect_same() {
    EXPECT_EQ(words_of(out(parameters_.span())), words_of(host_parameters_));
    const auto slots = optimizer_->slots(), expected = host_->slots();
    ASSERT_EQ(slots.size(), expected.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].name, expected[i].name);
      EXPECT_EQ(words_of(out(slots[i].values)),
                words_of({expected[i].values.begin(), expected[i].values.end()}));
    }
  }
};

TEST_P(OptimizerOn, UpdatesAreThoseOfTheHost) {
  for (std::uint64_t step = 1; step <= 4; ++step) {
    const Floats gradient = gradient_of(step);
    in(gradient, gradient_.span());
    for (const std::size_t begin : {std::size_t{0}, std::size_t{5003}}) {  // in two parts, one not aligned
      const std::size_t count = begin == 0 ? 5003 : kCount - 5003;
      const auto values = parameters_.span().subspan(begin, count);
      const auto grads = gradient_.span().subspan(begin, count);
      const DeviceFloats foretold(device_, count);
      in(out(values), foretold.span());
      optimizer_->foretell(step, begin, foretold.span(), grads);
      optimizer_->update(step, begin, values, grads);
      EXPECT_EQ(words_of(out(foretold.span())), words_of(out(values)));
    }
    host_->update(step, host_parameters_, gradient);
    expect_same();
  }
}

TEST_P(OptimizerOn, ASteadyUpdateIsThatUpdate) {
  const auto steady = optimizer_->steady(parameters_.span(), gradient_.span());
  for (std::uint64_t step = 1; step <= 4; ++step) {
    const Floats gradient = gradient_of(step);
    in(gradient, gradient_.span());
    steady->run(step);
    host_->update(step, host_parameters_, gradient);
    expect_same();
  }
}

TEST_P(OptimizerOn, ASteadyUpdateMayClipTheGradientFirst) {
  const DeviceArray<double> norm(device_, norm_space(kCount));
  const DeviceFloats factor(device_, 1);
  const auto steady = optimizer_->steady(parameters_.span(), gradient_.span(), [&] {
    device_->vectors().squared_norm(gradient_.span(), norm.span());
    device_->vectors().clip_factor(norm.data(), 0.5F, factor.data());
    device_->vectors().scale_by(gradient_.span(), factor.data(), gradient_.span());
  });
  const auto host = make_host_device();
  std::vector<double> host_norm(norm_space(kCount));
  for (std::uint64_t step = 1; step <= 3; ++step) {
    Floats gradient = gradient_of(step);
    in(gradient, gradient_.span());
    steady->run(step);
    float host_factor = 0;
    host->vectors().squared_norm(gradient, host_norm);
    host->vectors().clip_factor(host_norm.data(), 0.5F, &host_factor);
    EXPECT_LT(host_factor, 1.0F);
    host->vectors().scale_by(gradient, &host_factor, gradient);
    host_->update(step, host_parameters_, gradient);
    expect_same();
  }
}

TEST_P(OptimizerOn, StateCanBeTakenOutAndPutIn) {
  const auto other = kind_.make(kCount, device_);
  const Floats first = gradient_of(1), second = gradient_of(2);
  in(first, gradient_.span());
  optimizer_->update(1, parameters_.span(), gradient_.span());
  const auto slots = optimizer_->slots(), others = other->slots();
  for (std::size_t i = 0; i < slots.size(); ++i) in(out(slots[i].values), others[i].values);
  in(second, gradient_.span());
  const DeviceFloats copy(device_, kCount);
  in(out(parameters_.span()), copy.span());
  optimizer_->update(2, parameters_.span(), gradient_.span());
  other->update(2, copy.span(), gradient_.span());
  EXPECT_EQ(words_of(out(copy.span())), words_of(out(parameters_.span())));
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerOn,
                         ::testing::Combine(::testing::ValuesIn(devices_here()), ::testing::ValuesIn(kKinds)),
                         [](const auto& each) {
                           const std::string& device = std::get<0>(each.param);
                           return device.substr(0, device.find(':')) + "_" + std::get<1>(each.param).name;
                         });

}  // namespace
}  // namespace muster::test
