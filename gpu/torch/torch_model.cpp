#include "muster/torch_model.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/check.hpp"
#include "gpu/torch/autocast.hpp"
#include "gpu/torch/compat.hpp"
#include "gpu/torch/gradient_hooks.hpp"
#include "gpu/torch/runtime.hpp"
#include "gpu/torch/torch_binding.hpp"
#include "gpu/torch/torch_loss.hpp"
#include "muster/error.hpp"
#include "muster/random.hpp"

namespace muster {
namespace {

/// libtorch's exceptions become ours, with its words but without its back trace.
template <class Body>
auto with_torch_errors(Body&& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    throw Error(std::string("libtorch: ") + error.what_without_backtrace());
  }
}

bool has_module(torch::nn::Module& root, const std::string& word) {
  for (const auto& module : root.modules())
    if (module->name().find(word) != std::string::npos) return true;
  return false;
}

class TorchModel final : public Model {
 public:
  TorchModel(std::function<TorchModule()> build, TorchLoss loss, const ModelContext& context)
      : build_(std::move(build)), loss_(loss), threads_(context.threads), bfloat16_(context.bfloat16) {
    prepare_torch_process();
    prepare_torch_thread(threads_);
    with_torch_errors([&] {
      binding_ = make_torch_binding(context);
      c10::OptionalStreamGuard guard;
      binding_->enter(guard);
      parts_ = build_seeded(0);
      declare();
    });
  }

  const Layout& layout() const override { return layout_; }

  bool mixes_samples() const override { return mixes_samples_; }

  bool takes_bfloat16() const override { return true; }

  bool computes_on_gpus() const override { return true; }

  std::string libraries() const override { return torch_libraries(binding_->device().is_cuda()); }

  double weight(const Batch& batch) const override { return weight_of(batch, loss_); }

  void check_batch(const Batch& batch) const override {
    const TorchRows rows = rows_of(batch, parts_, loss_);
    if (parts_.outputs > 0) check_labels(rows.labels, parts_.outputs);
  }

  void initialize(std::uint64_t seed, std::span<float> state) override {
    MUSTER_CHECK(state.size() == layout_.total(), state.size(), layout_.total());
    prepare_torch_thread(threads_);
    with_torch_errors([&] {
      c10::OptionalStreamGuard guard;
      binding_->enter(guard);
      binding_->check_memory(state.data());
      const at::NoGradGuard no_grad;
      const TorchModule fresh = build_seeded(seed);
      float* out = state.data();
      const auto copy = [&](const at::Tensor& tensor) {
        view(out, tensor.sizes()).copy_(tensor);
        out += tensor.numel();
      };
      for (const auto& parameter : fresh.module->parameters()) copy(parameter);
      for (const auto& buffer : fresh.module->buffers()) copy(buffer);
      MUSTER_CHECK(out == state.data() + state.size(), "the module was built with another size");
    });
  }

  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    return gradient_in_parts(state, batch, key, gradient, [](std::size_t, std::size_t) {});
  }

  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    MUSTER_CHECK(gradient.size() == layout_.total(), gradient.size(), layout_.total());
    prepare_torch_thread(threads_);
    return with_torch_errors([&] {
      c10::OptionalStreamGuard guard;
      binding_->enter(guard);
      binding_->check_memory(gradient.data());
      bind(state);
      parts_.module->train();
      const TorchRows rows = rows_of(batch, parts_, loss_);
      const at::Tensor logits = flat_logits(forward_seeded(rows.inputs, key), rows, loss_);
      check_labels(rows.labels, logits.size(1));
      at::Tensor grad;
      binding_->measure(logits, rows.labels, &grad);
      write_buffer_changes(state, weight(batch), gradient);
      ready(layout_.parameters, layout_.buffers);
      write_grads(logits, grad, gradient, ready);
      return binding_->metrics();
    });
  }

  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    prepare_torch_thread(threads_);
    return with_torch_errors([&] {
      c10::OptionalStreamGuard guard;
      binding_->enter(guard);
      const at::NoGradGuard no_grad;
      bind(state);
      parts_.module->eval();
      const TorchRows rows = rows_of(batch, parts_, loss_);
      const at::Tensor logits = flat_logits(forward(rows.inputs), rows, loss_);
      check_labels(rows.labels, logits.size(1));
      binding_->measure(logits, rows.labels, nullptr);
      return binding_->metrics();
    });
  }

 private:
  /// On the host, so that a seed gives the same weights on every device.
  TorchModule build_seeded(std::uint64_t seed) const {
    const SeededGenerator guard(seed);
    TorchModule built = build_();
    MUSTER_CHECK(built.module != nullptr && built.forward, "build() returned no module");
    return built;
  }

  void declare() {
    for (const auto& item : parts_.module->named_parameters()) {
      if (item.value().scalar_type() != at::kFloat || !item.value().device().is_cpu())
        throw Error("model: parameter " + item.key() + " is not float32 on the CPU");
      layout_.add_parameter(item.key(), item.value().sizes().vec());
      item.value().requires_grad_(true);
      parameters_.push_back(item.value());
    }
    for (const auto& item : parts_.module->named_buffers()) {
      layout_.add_buffer(item.key(), item.value().sizes().vec());
      buffers_.push_back(item.value());
    }
    if (!binding_->device().is_cpu())
      parts_.module->to(binding_->device());  // the tensors stay the same objects
    hooks_ = std::make_unique<GradientHooks>(parameters_);
    random_ = parts_.random || has_module(*parts_.module, "Dropout");
    mixes_samples_ = parts_.mixes_samples || has_module(*parts_.module, "BatchNorm");
  }

  /// Parameters become views of the caller's memory, which libtorch only reads; buffers, which a forward pass
  /// changes, get a copy.
  void bind(std::span<const float> given) {
    MUSTER_CHECK(given.size() == layout_.total(), given.size(), layout_.total());
    binding_->check_memory(given.data());
    const std::span<const float> state = aligned(given);
    const at::NoGradGuard no_grad;
    if (state.data() != bound_) {
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        parameters_[i].set_data(view(state.data() + layout_.entries[i].offset, parameters_[i].sizes()));
      bound_ = state.data();
    }
    compat::copy_all(buffers_, buffer_views(state.data()));
  }

  /// Of all buffers, in memory that the caller owns.
  std::vector<at::Tensor> buffer_views(const float* data) const {
    std::vector<at::Tensor> views;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const LayoutEntry& entry = layout_.entries[parameters_.size() + i];
      views.push_back(view(data + entry.offset, entry.shape));
    }
    return views;
  }

  /// libtorch 2.x chooses kernels, and with them bits, by whether weights lie at a multiple of 16 bytes. What
  /// allocators give out does; anything else on the host is copied.
  std::span<const float> aligned(std::span<const float> state) {
    constexpr std::uintptr_t kAlignment = 16;
    const bool fits = reinterpret_cast<std::uintptr_t>(state.data()) % kAlignment == 0;
    if (fits || !binding_->device().is_cpu()) return state;
    aligned_.assign(state.begin(), state.end());
    return aligned_;
  }

  at::Tensor forward(const at::Tensor& inputs) const {
    const Autocast autocast(binding_->device().type(), bfloat16_);
    return parts_.forward(binding_->inputs(inputs));
  }

  at::Tensor forward_seeded(const at::Tensor& inputs, const StepKey& key) const {
    std::optional<SeededGenerator> guard;
    if (random_) guard.emplace(mix(key.seed, key.epoch, key.step, key.shard), binding_->device().index());
    return forward(inputs);
  }

  /// A view of memory that the caller owns, on the device.
  at::Tensor view(const float* data, at::IntArrayRef shape) const {
    return at::for_blob(const_cast<float*>(data), shape)
        .options(at::TensorOptions(at::kFloat).device(binding_->device()))
        .target_device(binding_->device())
        .make_tensor();
  }

  // Each parameter's as soon as it is there; 0 for those that the logits do not depend on. For a GPU
  // libtorch says them on a thread of its own, while this one waits.
  void write_grads(const at::Tensor& logits, const at::Tensor& grad, std::span<float> gradient,
                   const PartReady& ready) {
    std::vector<bool> written(parameters_.size());
    hooks_->backward(logits, grad, [&](std::size_t parameter, const at::Tensor& value) {
      c10::OptionalStreamGuard guard;
      binding_->enter(guard);
      const LayoutEntry& entry = layout_.entries[parameter];
      write_grad(value, gradient.data() + entry.offset, entry);
      written[parameter] = true;
      ready(entry.offset, entry.count);
    });
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const LayoutEntry& entry = layout_.entries[i];
      if (written[i]) continue;
      view(gradient.data() + entry.offset, entry.shape).zero_();
      ready(entry.offset, entry.count);
    }
  }

  void write_grad(const at::Tensor& grad, float* out, const LayoutEntry& entry) const {
    const at::NoGradGuard no_grad;
    if (grad.is_cpu() && grad.is_contiguous() && grad.scalar_type() == at::kFloat) {
      std::memcpy(out, grad.data_ptr<float>(), entry.count * sizeof(float));
    } else {
      view(out, entry.shape).copy_(grad);
    }
  }

  void write_buffer_changes(std::span<const float> state, double weight, std::span<float> gradient) const {
    if (buffers_.empty()) return;
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> out = buffer_views(gradient.data());
    compat::copy_all(out, buffers_);
    at::_foreach_sub_(out, buffer_views(state.data()));
    at::_foreach_mul_(out, weight);
  }

  std::function<TorchModule()> build_;
  TorchLoss loss_;
  int threads_;
  bool bfloat16_;
  std::unique_ptr<TorchBinding> binding_;
  TorchModule parts_;
  Layout layout_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> buffers_;
  std::unique_ptr<GradientHooks> hooks_;
  const float* bound_ = nullptr;
  std::vector<float> aligned_;
  bool random_ = false;
  bool mixes_samples_ = false;
};

}  // namespace

std::unique_ptr<Model> make_torch_model(std::function<TorchModule()> build, TorchLoss loss,
                                        const ModelContext& context) {
  return std::make_unique<TorchModel>(std::move(build), loss, context);
}

}  // namespace muster
