#include "gpu/torch/torch_loss.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw JobError("model", what);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text;
  for (const auto extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

const char* type_text(DType type) {
  return type == DType::float32 ? "float32" : type == DType::int64 ? "int64" : "uint8";
}

std::string sample_text(const Tensor& tensor) {
  if (tensor.shape.empty()) return "nothing";
  return std::string(type_text(tensor.dtype)) + " " + shape_text(std::span(tensor.shape).subspan(1));
}

std::int64_t rows_in(const Batch& batch, std::size_t tensors, const char* what) {
  if (batch.rows == 0) refuse("a batch without rows");
  if (batch.tensors.size() < tensors)
    refuse("samples have " + std::to_string(batch.tensors.size()) + " fields, the model takes " + what);
  for (const Tensor& tensor : batch.tensors)
    MUSTER_CHECK(tensor.bytes.size() == (Field{tensor.dtype, tensor.shape}.bytes()), tensor.bytes.size());
  return static_cast<std::int64_t>(batch.rows) + batch.padding;
}

/// One number stands for any shape with as many elements.
bool fits(std::span<const std::int64_t> sample, const std::vector<std::int64_t>& declared) {
  if (declared.empty()) return true;
  if (declared.size() != 1) return std::equal(sample.begin(), sample.end(), declared.begin(), declared.end());
  std::int64_t elements = 1;
  for (const auto extent : sample) elements *= extent;
  return elements == declared[0];
}

TorchRows classified_rows(const Batch& batch, const TorchModule& module) {
  const std::int64_t all = rows_in(batch, 2, "inputs and a label");
  const Tensor& inputs = batch.tensors[0];
  const Tensor& labels = batch.tensors[1];
  if (inputs.dtype != DType::float32 || inputs.shape.empty() || inputs.shape[0] != all)
    refuse("samples are " + sample_text(inputs) + ", the model takes float32");
  if (labels.dtype != DType::int64 || labels.shape != std::vector<std::int64_t>{all})
    refuse("labels are " + sample_text(labels) + ", the model takes one int64 for each sample");
  if (!fits(std::span(inputs.shape).subspan(1), module.sample))
    refuse("samples are " + sample_text(inputs) + ", the model takes float32 " + shape_text(module.sample) +
           ": make the model's options and the data agree");
  std::vector<std::int64_t> shape =
      module.sample.size() == 1 ? std::vector<std::int64_t>{0, module.sample[0]} : inputs.shape;
  shape[0] = batch.rows;
  const auto* data = inputs.as<float>().data();
  const auto given = labels.as<std::int64_t>().first(batch.rows);
  for (const auto label : given)
    if (label < 0) refuse("label " + std::to_string(label) + " in the data; labels count from 0");
  return {at::from_blob(const_cast<float*>(data), shape, at::kFloat), {given.begin(), given.end()}};
}

/// Tokens of one sample: each but the last is an input, each but the first a label.
struct Tokens {
  std::span<const std::int64_t> all;
  std::int64_t length = 0;  // inputs of a row

  std::int64_t at(std::int64_t row, std::int64_t place) const {
    return all[static_cast<std::size_t>(row * (length + 1) + place)];
  }
};

Tokens tokens_of(const Batch& batch) {
  const std::int64_t all = rows_in(batch, 1, "tokens");
  const Tensor& tokens = batch.tensors[0];
  const bool fit = tokens.dtype == DType::int64 && tokens.shape.size() == 2 && tokens.shape[0] == all;
  if (!fit || tokens.shape[1] < 2)
    refuse("samples are " + sample_text(tokens) + ", the model takes int64 tokens, at least 2 in a sample");
  return {tokens.as<std::int64_t>(), tokens.shape[1] - 1};
}

void check_token(std::int64_t token, std::int64_t row, std::int64_t place, std::int64_t vocabulary) {
  if (token < 0 || vocabulary == 0 || token < vocabulary) return;
  refuse("token " + std::to_string(token) + " in the data (row " + std::to_string(row) +
         " of a batch, place " + std::to_string(place) + "), but the model's vocabulary is " +
         std::to_string(vocabulary) + ": model.vocabulary must be at least data.vocabulary");
}

TorchRows token_rows(const Batch& batch, const TorchModule& module) {
  const Tokens tokens = tokens_of(batch);
  const std::int64_t length = tokens.length;
  if (!module.sample.empty() && length > module.sample[0])
    refuse("samples predict " + std::to_string(length) + " tokens, the model takes at most " +
           std::to_string(module.sample[0]) + ": data.context must not be above model.context");
  TorchRows rows{at::empty({std::int64_t{batch.rows}, length}, at::kLong), {}};
  rows.labels.reserve(static_cast<std::size_t>(batch.rows * length));
  auto* input = rows.inputs.data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    for (std::int64_t place = 0; place <= length; ++place) {
      const std::int64_t token = tokens.at(row, place);
      check_token(token, row, place, module.outputs);
      // Behind the end of the text any token will do: nothing before it sees it, and it predicts nothing.
      if (place < length) *input++ = std::max<std::int64_t>(token, 0);
      if (place > 0) rows.labels.push_back(token);
    }
  }
  return rows;
}

}  // namespace

TorchRows rows_of(const Batch& batch, const TorchModule& module, TorchLoss loss) {
  return loss == TorchLoss::next_token ? token_rows(batch, module) : classified_rows(batch, module);
}

double weight_of(const Batch& batch, TorchLoss loss) {
  if (loss != TorchLoss::next_token) return batch.rows;
  const Tokens tokens = tokens_of(batch);
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row)
    for (std::int64_t place = 1; place <= tokens.length; ++place) count += tokens.at(row, place) >= 0 ? 1 : 0;
  return static_cast<double>(count);
}

void check_labels(const std::vector<std::int64_t>& labels, std::int64_t outputs) {
  for (const auto label : labels)
    if (label >= outputs)
      refuse("label " + std::to_string(label) + " in the data, but the model has " + std::to_string(outputs) +
             " outputs");
}

at::Tensor flat_logits(const at::Tensor& logits, const TorchRows& rows, TorchLoss loss) {
  const bool tokens = loss == TorchLoss::next_token;
  const bool fit = (logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kBFloat16) &&
                   logits.dim() == (tokens ? 3 : 2) && logits.size(0) == rows.inputs.size(0) &&
                   (!tokens || logits.size(1) == rows.inputs.size(1));
  if (!fit)
    throw Error(std::string("model: forward must return float32 logits ") +
                (tokens ? "[rows, tokens, vocabulary]" : "[rows, classes]") + ", and returned " +
                shape_text(logits.sizes()));
  return tokens ? logits.flatten(0, 1) : logits;
}

Metrics cross_entropy(const at::Tensor& logits, const std::vector<std::int64_t>& labels, at::Tensor* grad) {
  const at::NoGradGuard no_grad;
  const at::Tensor scores = at::log_softmax(logits.to(at::kFloat), 1).contiguous();
  const float* score = scores.data_ptr<float>();
  const std::int64_t classes = scores.size(1);
  Metrics metrics;
  if (grad != nullptr) *grad = scores.exp();
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const std::int64_t begin = static_cast<std::int64_t>(r) * classes;
    float* grads = grad != nullptr ? grad->data_ptr<float>() + begin : nullptr;
    if (labels[r] < 0) {
      if (grads != nullptr) std::fill(grads, grads + classes, 0.0F);
      continue;
    }
    const float* row = score + begin;
    metrics.loss -= static_cast<double>(row[labels[r]]);
    metrics.correct += std::max_element(row, row + classes) - row == labels[r] ? 1 : 0;
    if (grads != nullptr) grads[labels[r]] -= 1.0F;
  }
  if (grad != nullptr) *grad = grad->to(logits.scalar_type());
  return metrics;
}

at::Tensor cross_entropy_sums(const at::Tensor& logits, const at::Tensor& labels, bool holes,
                              at::Tensor* grad) {
  const at::NoGradGuard no_grad;
  at::Tensor scores = at::log_softmax(logits.to(at::kFloat), 1);
  const at::Tensor places = holes ? labels.clamp_min(0) : labels;
  const at::Tensor columns = places.unsqueeze(1);
  at::Tensor picked = scores.gather(1, columns).squeeze(1);
  if (holes) picked = picked.masked_fill(labels.lt(0), 0);
  // The first of equals, as on the host. No answer is below 0, so a hole's is never right.
  const at::Tensor right = scores.argmax(1).eq(labels);
  const at::Tensor sums = at::stack({picked.sum(at::kDouble).neg(), right.sum(at::kDouble)});
  if (grad == nullptr) return sums;
  scores.exp_();
  const at::Tensor rows = at::arange(labels.size(0), labels.options());
  scores.index_put_({rows, places}, scores.gather(1, columns).squeeze(1).sub(1));
  if (holes) scores.masked_fill_(labels.lt(0).unsqueeze(1), 0);
  *grad = scores.to(logits.scalar_type());
  return sums;
}

}  // namespace muster
