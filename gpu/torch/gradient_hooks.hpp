// Says each parameter's gradient while the backward pass goes on.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace muster {

/// Used by one thread at a time. The backward pass of tensors on the CPU runs on the thread that asks; that
/// of a GPU's on a thread of libtorch's, on the stream that was current when this was made, while the one
/// that asks waits.
class GradientHooks {
 public:
  using OnGradient = std::function<void(std::size_t parameter, const at::Tensor& grad)>;

  /// Of leaves that require a gradient. They keep their hooks, which then say nothing any more.
  explicit GradientHooks(const std::vector<at::Tensor>& parameters);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  /// The gradient of `output`, times `grad`: each parameter's is said once, when it is final, in the order
  /// in which they become so; what `output` does not depend on is not said.
  void backward(const at::Tensor& output, const at::Tensor& grad, OnGradient on_gradient);

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // hooks live as long as these
  std::shared_ptr<OnGradient> on_gradient_ = std::make_shared<OnGradient>();
};

}  // namespace muster
