// gradient_dump FOLDER: for each of some models the state, a batch and its gradient, as
// FOLDER/<model>.safetensors, <model>.batch.safetensors and <model>.gradient.safetensors; and the gradient
// once more as <model>.clipped.safetensors, clipped to half its norm. gradients_test.py holds them against
// PyTorch.
#include <cstdio>
#include <filesystem>

#include "gpu/optimizer/clipping.hpp"
#include "muster/registry.hpp"
#include "tests/support/write_safetensors.hpp"
#include "tests/unit/gpu/batches.hpp"

namespace {

using muster::Batch;
using muster::Option;
using muster::Options;

std::int64_t integer(int value) {
  return value;
}

/// Rows of random tokens; the last row ends early.
Batch tokens(std::uint32_t rows, std::int64_t columns, std::uint64_t vocabulary) {
  const auto count = static_cast<std::uint32_t>(rows * columns);
  muster::Tensor tensor = muster::testing_support::random_labels(count, vocabulary, 3);
  tensor.shape = {rows, columns};
  const auto all = tensor.as<std::int64_t>();
  all[all.size() - 1] = all[all.size() - 2] = -1;
  return Batch{rows, 0, {std::move(tensor)}};
}

struct Case {
  const char* model;
  Options options;
  Batch batch;
};

std::vector<Case> cases() {
  using muster::testing_support::classified;
  return {{"fashion_cnn", {}, classified(9, {1, 28, 28}, 10, 5)},
          {"resnet18",
           {{"channels", integer(3)}, {"classes", integer(10)}, {"side", integer(16)}, {"width", integer(8)}},
           classified(5, {3, 16, 16}, 10, 5)},
          {"gpt2",
           {{"layers", integer(2)},
            {"heads", integer(4)},
            {"width", integer(32)},
            {"context", integer(24)},
            {"vocabulary", integer(61)},
            {"dropout", 0.0}},
           tokens(3, 21, 61)}};
}

/// The batch as floats, which hold every label and token of these exactly.
void write_batch(const std::filesystem::path& path, const Batch& batch) {
  muster::Layout layout;
  std::vector<float> values;
  for (std::size_t k = 0; k < batch.tensors.size(); ++k) {
    const muster::Tensor& tensor = batch.tensors[k];
    layout.add_parameter(std::to_string(k), tensor.shape);
    if (tensor.dtype == muster::DType::float32) {
      for (const float value : tensor.as<float>()) values.push_back(value);
    } else {
      for (const auto value : tensor.as<std::int64_t>()) values.push_back(static_cast<float>(value));
    }
  }
  muster::write_safetensors(path, layout, values, {});
}

void write_clipped(const std::filesystem::path& path, const muster::Layout& layout,
                   std::vector<float> gradient) {
  const auto host = muster::make_host_device();
  const std::span<float> grads = std::span(gradient).first(layout.parameters);
  muster::Clipping whole(host, grads.size(), 1);
  whole.measure(grads);
  const double bound = whole.norm() / 2;
  muster::Clipping half(host, grads.size(), bound);
  half.measure(grads);
  half.clip(grads, grads);
  char text[2][32];
  std::snprintf(text[0], sizeof text[0], "%.17g", bound);
  std::snprintf(text[1], sizeof text[1], "%.17g", half.norm());
  muster::write_safetensors(path, layout, gradient, {{"bound", text[0]}, {"norm", text[1]}});
}

void dump(const std::filesystem::path& folder, const Case& one) {
  const auto model = muster::builtin_registry().make_model(one.model, one.options, {});
  std::vector<float> state(model->layout().total()), gradient(state.size());
  model->initialize(7, state);
  const auto metrics = model->gradient(state, one.batch, {}, gradient);
  const std::map<std::string, std::string> facts{{"loss", std::to_string(metrics.loss)},
                                                 {"correct", std::to_string(metrics.correct)},
                                                 {"weight", std::to_string(model->weight(one.batch))}};
  const std::string name = one.model;
  muster::write_safetensors(folder / (name + ".safetensors"), model->layout(), state, {});
  muster::write_safetensors(folder / (name + ".gradient.safetensors"), model->layout(), gradient, facts);
  write_clipped(folder / (name + ".clipped.safetensors"), model->layout(), gradient);
  write_batch(folder / (name + ".batch.safetensors"), one.batch);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    std::filesystem::create_directories(argv[1]);
    for (const Case& one : cases()) dump(argv[1], one);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
