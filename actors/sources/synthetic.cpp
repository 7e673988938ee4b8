#include "actors/sources/synthetic.hpp"

#include <cstring>

#include "actors/sources/mix.hpp"
#include "muster/error.hpp"
#include "muster/fingerprint.hpp"

namespace muster {
namespace {

constexpr std::int64_t kWidthMax = 1 << 20;
constexpr std::int64_t kWeightsMax = 1 << 26;
constexpr float kNoise = 0.05f;

/// Independent streams of random numbers of one seed.
enum class Stream : std::uint64_t { weights = 1, train = 2, test = 3 };

/// A number in [-1, 1): a multiple of 2^-23, so that it is the same float everywhere.
float uniform(std::uint64_t key, std::uint64_t number) {
  const std::uint64_t bits = mix64(key + number * kGoldenGamma) >> 40;
  return static_cast<float>(bits) * 0x1p-23f - 1.0f;
}

std::uint64_t stream_key(std::uint64_t seed, Stream stream) {
  return mix64(mix64(seed + kGoldenGamma) ^ static_cast<std::uint64_t>(stream));
}

struct Shape {
  std::uint64_t seed = 0;
  std::uint64_t samples = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
};

class SyntheticSource : public IndexedSource {
 public:
  SyntheticSource(const Shape& shape, Stream stream)
      : shape_(shape),
        stream_(stream),
        key_(stream_key(shape.seed, stream)),
        fields_{{DType::float32, {static_cast<std::int64_t>(shape.inputs)}},
                {DType::float32, {static_cast<std::int64_t>(shape.outputs)}}},
        weights_(shape.inputs * shape.outputs),
        inputs_(shape.inputs) {
    const std::uint64_t key = stream_key(shape.seed, Stream::weights);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = uniform(key, i);
  }

  std::uint64_t size() const override { return shape_.samples; }

  const std::vector<Field>& fields() const override { return fields_; }

  void read(std::uint64_t index, Row row) override {
    const std::uint64_t key = mix64(key_ ^ index);
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = uniform(key, i);
    std::memcpy(row[0].data(), inputs_.data(), row[0].size());
    for (std::uint64_t output = 0; output < shape_.outputs; ++output) {
      const float* weights = weights_.data() + output * shape_.inputs;
      float sum = kNoise * uniform(key, shape_.inputs + output);
      for (std::size_t i = 0; i < inputs_.size(); ++i) sum += weights[i] * inputs_[i];
      std::memcpy(row[1].data() + output * sizeof sum, &sum, sizeof sum);
    }
  }

  std::uint64_t resident_bytes() const override { return weights_.size() * sizeof(float); }

  std::string fingerprint() const override {
    Fingerprint print;
    print.add("synthetic");
    for (const std::uint64_t part : {shape_.seed, shape_.samples, shape_.inputs, shape_.outputs})
      print.add(part);
    print.add(static_cast<std::uint64_t>(stream_));
    return print.hex();
  }

 private:
  Shape shape_;
  Stream stream_;
  std::uint64_t key_;
  std::vector<Field> fields_;
  std::vector<float> weights_;  // [outputs][inputs]
  std::vector<float> inputs_;   // of the sample being read
};

std::uint64_t count(const Options& options, const std::string& key, std::int64_t minimum,
                    std::int64_t maximum) {
  const std::int64_t value = option<std::int64_t>(options, key);
  if (value < minimum || value > maximum) {
    throw JobError("data." + key, std::to_string(value) + " is out of range; allowed: " +
                                      std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return static_cast<std::uint64_t>(value);
}

constexpr std::int64_t kSamplesMax = std::int64_t{1} << 53;

}  // namespace

std::vector<OptionSpec> synthetic_options() {
  std::vector<OptionSpec> specs;
  const auto declare = [&specs](const char* key, const char* help, std::int64_t fallback) -> OptionSpec& {
    OptionSpec& spec = specs.emplace_back();
    spec.key = key;
    spec.type = OptionType::integer;
    spec.help = help;
    spec.default_value.emplace(fallback);
    return spec;
  };
  const auto between = [](OptionSpec& spec, std::int64_t minimum, std::int64_t maximum) {
    spec.minimum = static_cast<double>(minimum);
    spec.maximum = static_cast<double>(maximum);
  };
  between(declare("samples", "training samples", 4096), 1, kSamplesMax);
  between(declare("inputs", "elements of a sample's input", 16), 1, kWidthMax);
  between(declare("outputs", "elements of a sample's target", 1), 1, kWidthMax);
  between(declare("test_samples", "test samples; 0: no test set", 0), 0, kSamplesMax);
  declare("seed", "seed of the generated data", 1);
  return specs;
}

Dataset make_synthetic(const Options& options) {
  Shape shape;
  shape.seed = static_cast<std::uint64_t>(option<std::int64_t>(options, "seed"));
  shape.samples = count(options, "samples", 1, kSamplesMax);
  shape.inputs = count(options, "inputs", 1, kWidthMax);
  shape.outputs = count(options, "outputs", 1, kWidthMax);
  if (shape.inputs * shape.outputs > kWeightsMax) {
    throw JobError("data.outputs", "inputs x outputs are " + std::to_string(shape.inputs * shape.outputs) +
                                       "; allowed are up to " + std::to_string(kWeightsMax));
  }
  Dataset data;
  data.train = std::make_unique<SyntheticSource>(shape, Stream::train);
  shape.samples = count(options, "test_samples", 0, kSamplesMax);
  if (shape.samples > 0) data.test = std::make_unique<SyntheticSource>(shape, Stream::test);
  return data;
}

}  // namespace muster
