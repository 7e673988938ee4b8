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
           "width of the input, of each hidden layer, and the number of classes",
           Option{std::vector<std::int64_t>{784, 128, 10}},
           1,
           1 << 24,
           {}}};
}

std::vector<OptionSpec> fashion_cnn_options() {
  return {};
}

std::vector<OptionSpec> resnet18_options() {
  return {integer("channels", "channels of the images: 3 for RGB, 1 for gray", 3, 1, 1024),
          integer("classes", "number of classes", 10, 1, 1 << 24),
          integer("side", "height and width of the images", 32, 16, 1024),
          integer("width", "channels of the first stage; the later ones have 2, 4 and 8 times as many", 64, 1,
                  1024)};
}

std::vector<OptionSpec> gpt2_options() {
  return {integer("layers", "transformer blocks", 12, 1, 1024),
          integer("heads", "attention heads in each block; they divide the width among them", 12, 1, 1024),
          integer("width", "width of the embedding", 768, 1, 1 << 16),
          integer("context", "most tokens that one prediction is made from", 1024, 1, 1 << 20),
          integer("vocabulary", "number of different tokens; at least data.vocabulary", 50257, 2, 1 << 24),
          {"dropout",
           OptionType::number,
           "share of activations that is set to 0 in training, drawn for each shard and step",
           Option{0.0},
           0,
           0.99,
           {}}};
}

std::vector<OptionSpec> script_options() {
  return {{"loss",
           OptionType::text,
           "`cross_entropy`: samples with a class each, logits [rows, classes]; `next_token`: tokens, logits "
           "[rows, tokens, vocabulary]",
           Option{std::string("cross_entropy")},
           {},
           {},
           {"cross_entropy", "next_token"}},
          {"input",
           OptionType::integers,
           "shape of one sample, without the rows of a batch: `[1, 28, 28]`; with `next_token` the number of "
           "tokens that it predicts: `[64]`",
           {},
           1,
           1 << 24,
           {}}};
}

}  // namespace muster
