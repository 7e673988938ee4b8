#include "gpu/models/script.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "gpu/optimizer/state_hash.hpp"
#include "gpu/torch/runtime.hpp"
#include "muster/error.hpp"
#include "muster/torch_model.hpp"

namespace muster {
namespace {

/// The words of libtorch, on one line and without its back trace.
std::string words_of(const std::exception& error) {
  constexpr std::size_t kLettersMax = 400;
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  std::string said = torch != nullptr ? torch->what_without_backtrace() : error.what();
  const std::string cause = "RuntimeError: ";  // behind the interpreter's own trace
  if (const auto at = said.rfind(cause); at != std::string::npos) said = said.substr(at + cause.size());
  std::istringstream words(said);
  std::string text, word;
  while (words >> word) text += (text.empty() ? "" : " ") + word;
  return text.size() <= kLettersMax ? text : text.substr(0, kLettersMax) + "...";
}

std::string read_whole(const std::string& path, const std::string& sha256) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw JobError("model.file", path + " cannot be read");
  const std::string found = sha256_hex(std::as_bytes(std::span(content)));
  if (!sha256.empty() && found != sha256)
    throw JobError("model.file", path + " has changed since the job was read: its SHA-256 was " + sha256 +
                                     ", and is " + found);
  return content;
}

torch::jit::Module load(const std::string& path, const std::string& content) {
  try {
    std::istringstream stream(content);
    return torch::jit::load(stream, at::Device(at::kCPU));
  } catch (const std::exception& error) {
    throw JobError("model.file",
                   path +
                       " is not a TorchScript module; write one in Python with "
                       "torch.jit.script(module).save(file), for what torch.save writes is none (libtorch: " +
                       words_of(error) + ")");
  }
}

bool has_batch_norm(const torch::jit::Module& script) {
  for (const torch::jit::Module& module : script.modules()) {
    const auto name = module.type()->name();
    if (name && name->qualifiedName().find("BatchNorm") != std::string::npos) return true;
  }
  return false;
}

/// The tensors of a script module under the same names, as the modules of torch_model.hpp have them.
class Mirror : public torch::nn::Module {
 public:
  explicit Mirror(torch::jit::Module script) : script_(std::move(script)) {
    std::set<const void*> seen;
    adopt(*script_, seen);
  }

  void train(bool on) override {
    torch::nn::Module::train(on);
    if (script_) script_->train(on);
  }

  torch::Tensor forward(const torch::Tensor& inputs) {
    const torch::jit::GraphOptimizerEnabledGuard as_saved(false);  // of this thread
    try {
      return script_->forward({inputs}).toTensor();
    } catch (const std::exception& error) {
      throw Error("model: the script failed: " + words_of(error));
    }
  }

 private:
  Mirror() = default;

  /// A tensor that is there under two names is one parameter.
  void adopt(const torch::jit::Module& from, std::set<const void*>& seen) {
    for (const auto& item : from.named_parameters(false)) {
      if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
      if (item.value.requires_grad()) {
        register_parameter(item.name, item.value);
      } else {
        register_buffer(item.name, item.value);
      }
    }
    for (const auto& item : from.named_buffers(false))
      if (seen.insert(item.value.unsafeGetTensorImpl()).second) register_buffer(item.name, item.value);
    for (const auto& item : from.named_children()) {
      const std::shared_ptr<Mirror> child(new Mirror);
      child->adopt(item.value, seen);
      register_module(item.name, child);
    }
  }

  std::optional<torch::jit::Module> script_;  // of the outermost mirror only
};

void check_parameters(const std::string& path, const Mirror& module) {
  const auto parameters = module.named_parameters();
  if (parameters.is_empty())
    throw JobError("model.file", path + " has no parameters to train: was it frozen (torch.jit.freeze)?");
  for (const auto& item : parameters)
    if (item.value().scalar_type() != at::kFloat)
      throw JobError("model.file", path + ": parameter " + item.key() + " is " +
                                       c10::toString(item.value().scalar_type()) +
                                       ", not float32: save module.float()");
}

std::string sizes_text(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

/// The number of outputs, from two samples of zeros.
std::int64_t try_out(const std::string& path, Mirror& module, const std::vector<std::int64_t>& sample,
                     TorchLoss loss) {
  const bool tokens = loss == TorchLoss::next_token;
  std::vector<std::int64_t> shape{2};
  shape.insert(shape.end(), sample.begin(), sample.end());
  const std::string given = path + ", given two samples of model.input, " + (tokens ? "int64 " : "float32 ") +
                            sizes_text(shape) + ", ";
  const at::NoGradGuard no_grad;
  module.eval();
  torch::Tensor logits;
  try {
    logits = module.forward(at::zeros(shape, tokens ? at::kLong : at::kFloat));
  } catch (const std::exception& error) {
    throw JobError("model.input", given + "says: " + words_of(error));
  }
  const bool fit = logits.scalar_type() == at::kFloat && logits.size(0) == 2 &&
                   logits.dim() == (tokens ? 3 : 2) && (!tokens || logits.size(1) == shape[1]);
  if (!fit)
    throw JobError("model.input", given + "returns " + c10::toString(logits.scalar_type()) + " " +
                                      sizes_text(logits.sizes()) + ", not float32 logits [rows, " +
                                      (tokens ? "tokens, vocabulary]" : "classes]"));
  return logits.size(-1);
}

}  // namespace

std::unique_ptr<Model> make_script_model(const std::string& path, const std::string& sha256,
                                         const Options& options, const ModelContext& context) {
  const auto loss =
      option<std::string>(options, "loss") == "next_token" ? TorchLoss::next_token : TorchLoss::cross_entropy;
  const auto sample = option<std::vector<std::int64_t>>(options, "input");
  if (sample.empty() || (loss == TorchLoss::next_token && sample.size() != 1))
    throw JobError("model.input", loss == TorchLoss::next_token
                                      ? "with loss \"next_token\" it is one number, of tokens"
                                      : "at least one number is needed: the shape of a sample");
  const auto content = std::make_shared<const std::string>(read_whole(path, sha256));
  prepare_torch_process();
  prepare_torch_thread(context.threads);
  const auto first = std::make_shared<Mirror>(load(path, *content));
  check_parameters(path, *first);
  const std::int64_t outputs = try_out(path, *first, sample, loss);
  const auto build = [=] {
    torch::jit::Module script = load(path, *content);
    const bool mixes = has_batch_norm(script);
    TorchModule made = torch_module(std::make_shared<Mirror>(std::move(script)));
    made.random = true;
    made.mixes_samples = mixes;
    made.sample = sample;
    made.outputs = outputs;
    return made;
  };
  return make_torch_model(build, loss, context);
}

}  // namespace muster
