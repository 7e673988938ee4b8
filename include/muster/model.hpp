// The model seam. libtorch and the tiny analytic models stand behind it, and so does a user's own C++ model.
//
// A model keeps no weights of its own: it is given one flat state, parameters first, then buffers, in
// declared order. It is a function without side effects: (state, batch, key) -> (gradient, metrics). The same
// arguments give the same bits, whatever was computed before, in whichever process.
//
// Spans of states and gradients are memory of the device in ModelContext. On a GPU all that is said below of
// their elements holds in the order of its stream: calls put work on it and return before it is done, and who
// reads or changes them from elsewhere waits for the stream. Batches lie on the host, and may be changed once
// a call has returned.
//
//   #include "muster/model.hpp"
//
//   class Mean : public muster::Model {  // learns the mean of its samples
//    public:
//     Mean() { layout_.add_parameter("mean", {1}); }
//     const muster::Layout& layout() const override { return layout_; }
//     void initialize(std::uint64_t, std::span<float> state) override { state[0] = 0; }
//     muster::Metrics gradient(std::span<const float> state, const muster::Batch& batch,
//                              const muster::StepKey&, std::span<float> gradient) override {
//       gradient[0] = 0;
//       for (const float x : batch.tensors[0].as<float>().first(batch.rows)) gradient[0] += state[0] - x;
//       return evaluate(state, batch);
//     }
//     muster::Metrics evaluate(std::span<const float> state, const muster::Batch& batch) override {
//       double loss = 0;
//       for (const float x : batch.tensors[0].as<float>().first(batch.rows))
//         loss += 0.5 * (state[0] - x) * (state[0] - x);
//       return {loss, 0};
//     }
//
//    private:
//     muster::Layout layout_;
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "muster/tensors.hpp"

namespace muster {

/// Where one named tensor lies in the flat state. Offsets and counts are in elements (float32).
struct LayoutEntry {
  std::string name;                 ///< one of its own; checkpoints find tensors by it
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::size_t offset = 0;           ///< of its first element in the state
  std::size_t count = 0;            ///< product of the shape
};

/// The flat state: `parameters` elements that the optimizer updates, then `buffers` elements (running
/// statistics and the like) that are averaged over shards. Entries are in declared order, parameters before
/// buffers, without gaps.
struct Layout {
  std::vector<LayoutEntry> entries;  ///< parameters, then buffers
  std::size_t parameters = 0;        ///< elements of all parameters
  std::size_t buffers = 0;           ///< elements of all buffers

  /// Elements of the whole state.
  std::size_t total() const { return parameters + buffers; }
  /// Appends a parameter, at the next free offset. After a buffer: a bug, which ends the process.
  void add_parameter(std::string name, std::vector<std::int64_t> shape);
  /// Appends a buffer, at the next free offset.
  void add_buffer(std::string name, std::vector<std::int64_t> shape);
};

/// All that randomness inside a model may depend on.
struct StepKey {
  std::uint64_t seed = 0;   ///< of the job
  std::uint64_t epoch = 0;  ///< from 1
  std::uint64_t step = 0;   ///< from 1, over the whole job
  std::uint32_t shard = 0;  ///< from 0; not the replica, which may change
};

/// Sums (never means) over the samples of one micro-batch.
struct Metrics {
  double loss = 0;     ///< sum of the loss
  double correct = 0;  ///< number of right answers; 0 for models without the notion
};

/// What a model is made for: the device and the threads of one replica, and what it computes in.
struct ModelContext {
  /// "cpu" or "cpu:K" (the caller pins the thread), or "cuda:K", the K-th visible GPU: then states,
  /// gradients and all else that the model is given but for batches lie in that GPU's memory.
  std::string device = "cpu";
  int threads = 1;  ///< compute threads of the replica; part of the mathematics, equal on every node
  /// Forward passes in mixed precision; part of the mathematics. Asked only of a model that takes it
  /// (Model::takes_bfloat16).
  bool bfloat16 = false;
  /// On a GPU: the cudaStream_t that all of the model's work is put on, in order, and that outlives the
  /// model; null stands for the GPU's default stream.
  void* stream = nullptr;
};

/// What a job trains. Each replica makes one, from the registry or a library, and uses it from its compute
/// thread. Muster calls it with a few samples before a run, and refuses a model that breaks what is said
/// here.
class Model {
 public:
  virtual ~Model() = default;

  /// Constant over the life of the model.
  virtual const Layout& layout() const = 0;

  /// Fills the initial state; a function of the seed alone. state.size() == layout().total().
  virtual void initialize(std::uint64_t seed, std::span<float> state) = 0;

  /// What the batch weighs in the divisor; the number of samples unless the model counts another (unmasked
  /// tokens, say).
  virtual double weight(const Batch& batch) const { return batch.rows; }

  /// Whether one sample's result depends on the other samples of its micro-batch (batch normalization): such
  /// a model refuses `remainder = "pad"`.
  virtual bool mixes_samples() const { return false; }

  /// Whether it does what ModelContext::bfloat16 asks for; else a job with train.precision = "bfloat16" is
  /// refused.
  virtual bool takes_bfloat16() const { return false; }

  /// Whether it can compute on a GPU; else a replica on one is refused.
  virtual bool computes_on_gpus() const { return false; }

  /// The libraries that it computes with, and the kernels that they choose for this machine, for people: told
  /// where two replicas are found to compute other bits. Empty: none but this program.
  virtual std::string libraries() const { return {}; }

  /// Throws JobError if batches like this one are not for this model: another type or shape, a label that it
  /// does not have. Asked with samples before anything starts, and with each micro-batch before it is
  /// computed: computes nothing, and takes little time beside a gradient.
  virtual void check_batch(const Batch& batch) const { static_cast<void>(batch); }

  /// Forward and backward of one micro-batch with at least one row. Writes every element of `gradient` (same
  /// size as the state): for parameters the gradient of the *sum* of the loss over the batch's samples; for
  /// buffers weight(batch) times the change of the buffer (value after minus value before). `state` is not
  /// changed. Called from one compute thread, never concurrently on one object.
  virtual Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                           std::span<float> gradient) = 0;

  /// Says which elements of a gradient are final. Each element is said once.
  using PartReady = std::function<void(std::size_t begin, std::size_t count)>;

  /// As `gradient`, with the same bits; says which elements are final as soon as they are, so that they can
  /// be summed up while the backward pass goes on. All of them have been said when it returns. `ready` is
  /// called by one thread at a time: the calling one, or, for a GPU, another one while the calling one
  /// waits. It does not throw. A model that does not know any sooner leaves it as it is.
  virtual Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                                    std::span<float> gradient, const PartReady& ready) {
    const Metrics metrics = this->gradient(state, batch, key, gradient);
    ready(0, gradient.size());
    return metrics;
  }

  /// Forward only, in evaluation mode. Returns sums over the batch's samples; changes nothing. Called from
  /// one compute thread, never concurrently on one object.
  virtual Metrics evaluate(std::span<const float> state, const Batch& batch) = 0;
};

}  // namespace muster
