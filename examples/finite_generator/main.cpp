// Generators of unequal and unknown length, one per shard.
//
//   muster_finite_generator run examples/finite_generator/finite_generator.toml
//
// Elsewhere: a generator that ends raises StopIteration or *End of sequence* in one worker; the others are in
// the all-reduce of that step already and wait for it until a timeout, or forever. The usual advice is to
// make the lengths equal: cut all to the shortest, or repeat the short ones.
//
// Here: the end of a shard is a message. The shard is absent from then on, with an `exhausted` event; the
// others go on with a divisor that counts what is there; when the last has ended, so has the epoch. Each
// sample is used once in each epoch.
#include <cstring>
#include <memory>

#include "muster/command_line.hpp"
#include "muster/fingerprint.hpp"
#include "muster/random.hpp"
#include "muster/source.hpp"

namespace {

// Walks at random from 0 until it leaves (-10, 10); a sample is a place and its square. How many steps that
// takes shows at the end.
class RandomWalk : public muster::Generator {
 public:
  explicit RandomWalk(std::uint64_t seed) : random_(seed) {}

  bool next(muster::Row row) override {
    if (place_ <= -10 || place_ >= 10) return false;
    write(row[0], place_ / 10);
    write(row[1], place_ * place_ / 100);
    place_ += 3 * random_.next_signed_unit();
    return true;
  }

 private:
  static void write(std::span<std::byte> field, float value) {
    std::memcpy(field.data(), &value, sizeof value);
  }

  muster::SplitMix64 random_;
  float place_ = 0;
};

class RandomWalks : public muster::GeneratorSource {
 public:
  const std::vector<muster::Field>& fields() const override { return fields_; }

  // The same samples each time it is asked: that is what lets a step be done again.
  std::unique_ptr<muster::Generator> open(std::uint32_t shard, std::uint32_t, std::uint64_t epoch) override {
    return std::make_unique<RandomWalk>(muster::mix(11, shard, epoch));
  }

  std::string fingerprint() const override {
    muster::Fingerprint print;
    print.add("random walks");
    return print.hex();
  }

 private:
  const std::vector<muster::Field> fields_{{muster::DType::float32, {1}}, {muster::DType::float32, {1}}};
};

}  // namespace

int main(int argc, char** argv) {
  muster::Registry registry = muster::builtin_registry();
  registry.add_source("random_walks", {}, [](const muster::Options&) {
    return muster::Dataset{std::make_unique<RandomWalks>(), nullptr};
  });
  return muster::main(argc, argv, registry);
}
