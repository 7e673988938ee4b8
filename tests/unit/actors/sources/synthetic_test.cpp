#include "actors/sources/synthetic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "actors/pipeline/stream.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::job_error_key;

Options defaults() {
  Options options;
  for (const auto& spec : synthetic_options()) options[spec.key] = *spec.default_value;
  return options;
}

std::vector<float> first_batch(const Options& options, std::size_t field, Mode mode = Mode::train) {
  Dataset data = make_synthetic(options);
  Job job;
  job.data.shuffle = false;
  job.train.batch = 1000;
  BatchReader reader(job, data);
  const Item item = reader.read(0, {mode, 1, 0});
  const auto values = item.batch->tensors.at(field).as<float>();
  return {values.begin(), values.end()};
}

TEST(Synthetic, IsTheSameEachTimeAndOtherForAnotherSeed) {
  Options options = defaults();
  const auto x = first_batch(options, 0);
  const auto y = first_batch(options, 1);
  EXPECT_EQ(first_batch(options, 0), x);
  EXPECT_EQ(first_batch(options, 1), y);
  options["seed"] = std::int64_t{2};
  EXPECT_NE(first_batch(options, 0), x);
  EXPECT_NE(first_batch(options, 1), y);
}

TEST(Synthetic, SpreadsItsInputsEvenly) {
  const auto x = first_batch(defaults(), 0);
  ASSERT_EQ(x.size(), 16'000u);
  double sum = 0;
  double squares = 0;
  for (const float value : x) {
    ASSERT_GE(value, -1.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(sum / 16'000, 0.0, 0.02);
  EXPECT_NEAR(squares / 16'000, 1.0 / 3, 0.02);
}

TEST(Synthetic, HasOtherTestSamplesOfTheSameFunction) {
  Options options = defaults();
  options["test_samples"] = std::int64_t{100};
  options["inputs"] = std::int64_t{1};
  const auto x = first_batch(options, 0, Mode::evaluate);
  const auto y = first_batch(options, 1, Mode::evaluate);
  ASSERT_EQ(x.size(), 100u);
  const auto train_x = first_batch(options, 0);
  const auto train_y = first_batch(options, 1);
  EXPECT_NE(std::vector(train_x.begin(), train_x.begin() + 100), x);
  const auto slope = [](const std::vector<float>& in, const std::vector<float>& out) {
    double xy = 0;
    double xx = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      xy += static_cast<double>(in[i]) * out[i];
      xx += static_cast<double>(in[i]) * in[i];
    }
    return xy / xx;
  };
  EXPECT_NEAR(slope(x, y), slope(train_x, train_y), 0.03);
}

// The bits are part of what the examples' and tests' weights hash stands for.
TEST(Synthetic, HasThePinnedNumbers) {
  Options options = defaults();
  options["inputs"] = std::int64_t{2};
  const auto x = first_batch(options, 0);
  const auto y = first_batch(options, 1);
  EXPECT_EQ(x[0], -0x1.07e628p-2f);
  EXPECT_EQ(x[1], 0x1.a4f0dp-3f);
  EXPECT_EQ(y[0], -0x1.be4d46p-2f);
}

TEST(Synthetic, RefusesOptionsOutOfRange) {
  for (const char* key : {"samples", "inputs", "outputs"}) {
    Options options = defaults();
    options[key] = std::int64_t{0};
    EXPECT_EQ(job_error_key([&] { make_synthetic(options); }), std::string("data.") + key);
  }
  Options options = defaults();
  options["inputs"] = options["outputs"] = std::int64_t{1} << 20;
  EXPECT_EQ(job_error_key([&] { make_synthetic(options); }), "data.outputs");
}

TEST(Synthetic, HashesItsOptions) {
  Options options = defaults();
  options["test_samples"] = std::int64_t{4096};
  const Dataset data = make_synthetic(options);
  EXPECT_NE(data.train->fingerprint(), data.test->fingerprint());
  EXPECT_EQ(data.train->fingerprint(), make_synthetic(defaults()).train->fingerprint());
  options["samples"] = std::int64_t{5};
  EXPECT_NE(make_synthetic(options).train->fingerprint(), data.train->fingerprint());
}

}  // namespace
}  // namespace muster
