#include "tests/simulation/sources.hpp"

#include <cstring>

#include "actors/sources/synthetic.hpp"
#include "muster/fingerprint.hpp"
#include "tests/simulation/plain_mathematics.hpp"

namespace muster::simulation {

namespace {

plain::Shape shape_of(const Options& options) {
  const auto number = [&](const char* key) {
    return static_cast<std::uint64_t>(option<std::int64_t>(options, key));
  };
  return {number("seed"), number("inputs"), number("outputs")};
}

std::vector<Field> fields_of(const plain::Shape& shape) {
  return {{DType::float32, {static_cast<std::int64_t>(shape.inputs)}},
          {DType::float32, {static_cast<std::int64_t>(shape.outputs)}}};
}

void write(const plain::Sample& sample, std::byte* x, std::byte* y) {
  std::memcpy(x, sample.x.data(), sample.x.size() * sizeof(float));
  std::memcpy(y, sample.y.data(), sample.y.size() * sizeof(float));
}

std::string print_of(const char* kind, const plain::Shape& shape, std::uint64_t samples) {
  Fingerprint print;
  print.add(kind);
  for (const std::uint64_t part : {shape.seed, shape.inputs, shape.outputs, samples}) print.add(part);
  return print.hex();
}

class Generated final : public GeneratorSource {
 public:
  Generated(const plain::Shape& shape, std::uint64_t samples)
      : shape_(shape), samples_(samples), fields_(fields_of(shape)) {}

  const std::vector<Field>& fields() const override { return fields_; }
  std::string fingerprint() const override { return print_of("generated", shape_, samples_); }
  std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch) override {
    struct Stream final : Generator {
      bool next(Row row) override {
        if (at == length) return false;
        write(plain::sample_of(shape, generated_index(shard, epoch, at++)), row[0].data(), row[1].data());
        return true;
      }
      plain::Shape shape;
      std::uint32_t shard = 0;
      std::uint64_t epoch = 0, length = 0, at = 0;
    };
    auto stream = std::make_unique<Stream>();
    stream->shape = shape_;
    stream->shard = shard;
    stream->epoch = epoch;
    stream->length = generated_length(samples_, shard, shards, epoch);
    return stream;
  }

 private:
  plain::Shape shape_;
  std::uint64_t samples_;
  std::vector<Field> fields_;
};

class Ready final : public BatchSource {
 public:
  Ready(const plain::Shape& shape, std::uint64_t batches) : shape_(shape), batches_(batches) {}

  std::uint64_t size() const override { return batches_; }
  std::string fingerprint() const override { return print_of("ready", shape_, batches_); }
  Batch batch(std::uint64_t index) override {
    Batch made;
    made.rows = static_cast<std::uint32_t>(ready_rows(index));
    for (const Field& field : fields_of(shape_)) {
      auto shape = field.shape;
      shape.insert(shape.begin(), made.rows);
      made.tensors.push_back({field.dtype, shape, std::vector<std::byte>(made.rows * field.bytes())});
    }
    for (std::uint64_t row = 0; row < made.rows; ++row)
      write(plain::sample_of(shape_, ready_index(index, row)),
            made.tensors[0].bytes.data() + row * shape_.inputs * sizeof(float),
            made.tensors[1].bytes.data() + row * shape_.outputs * sizeof(float));
    return made;
  }

 private:
  plain::Shape shape_;
  std::uint64_t batches_;
};

// Evaluated on what "synthetic" is evaluated on.
template <class Made>
Dataset make(const Options& options) {
  Dataset data = make_synthetic(options);
  const auto samples = static_cast<std::uint64_t>(option<std::int64_t>(options, "samples"));
  data.train = std::make_unique<Made>(shape_of(options), samples);
  return data;
}

}  // namespace

std::uint64_t generated_length(std::uint64_t samples, std::uint32_t shard, std::uint32_t shards,
                               std::uint64_t epoch) {
  return samples / shards + 1 + (shard + epoch) % 3;
}

std::uint64_t generated_index(std::uint32_t shard, std::uint64_t epoch, std::uint64_t local) {
  return (epoch << 32) + (std::uint64_t{shard} << 20) + local;
}

std::uint64_t ready_rows(std::uint64_t batch) {
  return 1 + batch % 3;
}

std::uint64_t ready_index(std::uint64_t batch, std::uint64_t row) {
  return 4 * batch + row;
}

Registry simulation_registry() {
  Registry registry = builtin_registry();
  registry.add_source("generated", synthetic_options(), make<Generated>);
  registry.add_source("ready", synthetic_options(), make<Ready>);
  return registry;
}

}  // namespace muster::simulation
