#include "ring.hpp"

#include <cstring>

#include "muster/random.hpp"

namespace {

class Ring final : public muster::IndexedSource {
 public:
  Ring(std::uint64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}

  std::uint64_t size() const override { return size_; }
  const std::vector<muster::Field>& fields() const override { return fields_; }

  void read(std::uint64_t index, muster::Row row) override {
    muster::SplitMix64 random(muster::mix(seed_, index));
    const float point[2] = {random.next_signed_unit(), random.next_signed_unit()};
    const std::int64_t inside = point[0] * point[0] + point[1] * point[1] < 0.64F ? 1 : 0;
    std::memcpy(row[0].data(), point, sizeof point);
    std::memcpy(row[1].data(), &inside, sizeof inside);
  }

  std::string fingerprint() const override {
    return "ring of " + std::to_string(size_) + " points, seed " + std::to_string(seed_);
  }

 private:
  const std::uint64_t size_;
  const std::uint64_t seed_;
  const std::vector<muster::Field> fields_{{muster::DType::float32, {2}}, {muster::DType::int64, {}}};
};

std::uint64_t count(const muster::Options& options, const char* key) {
  return static_cast<std::uint64_t>(muster::option<std::int64_t>(options, key));
}

}  // namespace

std::vector<muster::OptionSpec> ring_options() {
  return {{"samples",
           muster::OptionType::integer,
           "training samples",
           muster::Option{std::int64_t{2000}},
           1,
           1e9,
           {}},
          {"test_samples",
           muster::OptionType::integer,
           "test samples",
           muster::Option{std::int64_t{500}},
           1,
           1e9,
           {}}};
}

muster::Dataset make_ring(const muster::Options& options) {
  return {std::make_unique<Ring>(count(options, "samples"), 1),
          std::make_unique<Ring>(count(options, "test_samples"), 2)};
}
