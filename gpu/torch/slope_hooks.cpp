#include "gpu/torch/slope_hooks.hpp"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "gpu/thread_card.hpp"

namespace muster {
namespace {

using torch::autograd::variable_list;

// Runs when the gradient of a leaf has been added up.
class SayHook final : public torch::autograd::FunctionPostHook {
 public:
  SayHook(std::size_t parameter, at::Tensor leaf, std::weak_ptr<SlopeHooks::Said> said)
      : parameter_(parameter), leaf_(std::move(leaf)), said_(std::move(said)) {}

  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    const auto said = said_.lock();
    if (said && *said && leaf_.grad().defined()) (*said)(parameter_, leaf_.grad());
    return outputs;
  }

 private:
  std::size_t parameter_;
  at::Tensor leaf_;
  std::weak_ptr<SlopeHooks::Said> said_;
};

// Runs before all else of a backward pass, on the thread of libtorch's that computes it. That thread has the
// card's number, but no context there: cuBLAS would print a warning of it in each run.
class OnCardHook final : public torch::autograd::FunctionPreHook {
 public:
  explicit OnCardHook(int card) : card_(card) {}

  variable_list operator()(const variable_list& slopes) override {
    thread_local int current = -1;
    if (current != card_) use_card(card_);
    current = card_;
    return slopes;
  }

 private:
  int card_;
};

}  // namespace

SlopeHooks::SlopeHooks(const std::vector<at::Tensor>& parameters) : parameters_(parameters) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters_[i]));
    accumulators_.back()->add_post_hook(std::make_unique<SayHook>(i, parameters_[i], said_));
  }
}

SlopeHooks::~SlopeHooks() = default;

void SlopeHooks::backward(const at::Tensor& output, const at::Tensor& slope, Said said) {
  // Whatever happens, the next one begins with nothing.
  struct Cleared {
    SlopeHooks& hooks;
    ~Cleared() {
      *hooks.said_ = nullptr;
      for (at::Tensor& parameter : hooks.parameters_) parameter.mutable_grad().reset();
    }
  } cleared{*this};
  *said_ = std::move(said);
  if (output.is_cuda()) output.grad_fn()->add_pre_hook(std::make_unique<OnCardHook>(output.device().index()));
  torch::autograd::backward({output}, {slope});
}

}  // namespace muster
