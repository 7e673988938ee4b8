#include "gpu/torch/gradient_hooks.hpp"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "gpu/thread_gpu_guard.hpp"

namespace muster {
namespace {

using torch::autograd::variable_list;

// Runs when the gradient of a leaf has been added up.
class ReportHook final : public torch::autograd::FunctionPostHook {
 public:
  ReportHook(std::size_t parameter, at::Tensor leaf, std::weak_ptr<GradientHooks::OnGradient> on_gradient)
      : parameter_(parameter), leaf_(std::move(leaf)), on_gradient_(std::move(on_gradient)) {}

  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    const auto on_gradient = on_gradient_.lock();
    if (on_gradient && *on_gradient && leaf_.grad().defined()) (*on_gradient)(parameter_, leaf_.grad());
    return outputs;
  }

 private:
  std::size_t parameter_;
  at::Tensor leaf_;
  std::weak_ptr<GradientHooks::OnGradient> on_gradient_;
};

// Runs before all else of a backward pass, on the thread of libtorch's that computes it. That thread has the
// GPU's number, but no context there: cuBLAS would print a warning of it in each run.
class OnGpuHook final : public torch::autograd::FunctionPreHook {
 public:
  explicit OnGpuHook(int gpu) : gpu_(gpu) {}

  variable_list operator()(const variable_list& grads) override {
    thread_local int current = -1;
    if (current != gpu_) use_gpu(gpu_);
    current = gpu_;
    return grads;
  }

 private:
  int gpu_;
};

}  // namespace

GradientHooks::GradientHooks(const std::vector<at::Tensor>& parameters) : parameters_(parameters) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters_[i]));
    accumulators_.back()->add_post_hook(std::make_unique<ReportHook>(i, parameters_[i], on_gradient_));
  }
}

GradientHooks::~GradientHooks() = default;

void GradientHooks::backward(const at::Tensor& output, const at::Tensor& grad, OnGradient on_gradient) {
  // Whatever happens, the next one begins with nothing.
  struct Cleared {
    GradientHooks& hooks;
    ~Cleared() {
      *hooks.on_gradient_ = nullptr;
      for (at::Tensor& parameter : hooks.parameters_) parameter.mutable_grad().reset();
    }
  } cleared{*this};
  *on_gradient_ = std::move(on_gradient);
  if (output.is_cuda()) output.grad_fn()->add_pre_hook(std::make_unique<OnGpuHook>(output.device().index()));
  torch::autograd::backward({output}, {grad});
}

}  // namespace muster
