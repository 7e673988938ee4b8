// The options of the models that compute with libtorch. To read a job takes no libtorch: so these are in
// libmuster, and not beside what they are for.
#include "gpu/models/builtin.hpp"
#include "gpu/models/gpt2.hpp"
#include "gpu/models/resnet.hpp"
#include "gpu/models/script.hpp"

namespace muster {
namespace {

OptionSpec integer(const char* key, const char* help, std::int64_t value, double least, double most) {
  return {key, OptionType::integer, help, Option{value}, least, most, {}};
}

}  // namespace

std::vector<OptionSpec> mlp_options() {
  return {{"sizes",
           OptionType::integers,
           "width of the input and of each hidden layer, then the number of classes",
           Option{std::vector<std::int64_t>{784, 128, 10}},
           1,
           1 << 24,
           {}}};
}

std::vector<OptionSpec> fashion_cnn_options() {
  return {};
}

std::vector<OptionSpec> resnet18_options() {
  return {integer("channels", "channels of an image: 3 for RGB, 1 for grayscale", 3, 1, 1024),
          integer("classes", "number of classes", 10, 1, 1 << 24),
          integer("side", "height and width of an image, in pixels", 32, 16, 1024),
          integer("width", "channels of the first stage; the later stages have 2, 4 and 8 times as many", 64,
                  1, 1024)};
}

std::vector<OptionSpec> gpt2_options() {
  return {integer("layers", "number of transformer blocks", 12, 1, 1024),
          integer("heads", "attention heads of each block; `width` must be a multiple of it", 12, 1, 1024),
          integer("width", "size of the vector that represents a token", 768, 1, 1 << 16),
          integer("context", "largest number of tokens that a prediction uses", 1024, 1, 1 << 20),
          integer("vocabulary", "number of different tokens; at least data.vocabulary", 50257, 2, 1 << 24),
          {"dropout",
           OptionType::number,
           "probability that an activation is set to 0 in training; each shard and step draws its own mask",
           Option{0.0},
           0,
           0.99,
           {}}};
}

std::vector<OptionSpec> script_options() {
  return {{"loss",
           OptionType::text,
           "`cross_entropy`: each sample has one class, and logits are [rows, classes]; `next_token`: "
           "samples are tokens, and logits are [rows, tokens, vocabulary]",
           Option{std::string("cross_entropy")},
           {},
           {},
           {"cross_entropy", "next_token"}},
          {"input",
           OptionType::integers,
           "shape of one sample, without the batch dimension: `[1, 28, 28]`; with `next_token` the number of "
           "tokens that a sample predicts: `[64]`",
           {},
           1,
           1 << 24,
           {}}};
}

}  // namespace muster
