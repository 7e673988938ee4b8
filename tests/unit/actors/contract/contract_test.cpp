// Each broken promise is found, and named; what keeps them all passes.
#include <gtest/gtest.h>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/layout_check.hpp"
#include "actors/contract/model_check.hpp"
#include "actors/contract/source_check.hpp"
#include "actors/contract/sums.hpp"
#include "tests/support/broken_parts.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kLong{60000};

Batch four_samples() {
  broken::Sums source("", 4);
  Batch batch;
  batch.rows = 4;
  batch.tensors = {{DType::float32, {4, 2}, std::vector<std::byte>(32)},
                   {DType::float32, {4}, std::vector<std::byte>(16)}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::span<std::byte> fields[] = {std::span(batch.tensors[0].bytes).subspan(8 * i, 8),
                                           std::span(batch.tensors[1].bytes).subspan(4 * i, 4)};
    source.read(i, fields);
  }
  return batch;
}

struct Found {
  std::optional<Breach> breach;
  ContractLog log{kLong};
};

Found check(const std::string& flaw, const Batch& batch = four_samples(), bool pads = false,
            bool needs_finite = true, std::uint64_t seed = 7, std::size_t inputs = 2) {
  broken::Regression model(flaw, inputs);
  std::vector<float> state(model.layout().total());
  model.initialize(seed, state);
  const ModelTrial trial{model,
                         state,
                         batch,
                         "model.name",
                         seed,
                         false,
                         pads,
                         needs_finite,
                         true,
                         100,
                         &batch,
                         false,
                         "model.inputs = " + std::to_string(inputs)};
  Found found;
  found.breach = check_model(trial, found.log);
  if (!found.breach) found.breach = check_gradient_by_differences(trial, 4, found.log);
  return found;
}

struct Expected {
  const char* flaw;
  const char* check;
  std::vector<std::string> parts;
};

void expect(const Expected& expected, const std::optional<Breach>& breach) {
  ASSERT_TRUE(breach) << expected.flaw << " was not found";
  EXPECT_EQ(breach->check, expected.check) << expected.flaw;
  for (const std::string& part : expected.parts)
    EXPECT_NE(text_of(*breach).find(part), std::string::npos) << expected.flaw << ": " << text_of(*breach);
}

TEST(Contract, ModelsThatKeepItPass) {
  const Found found = check("");
  EXPECT_FALSE(found.breach) << text_of(*found.breach);
  EXPECT_EQ(found.log.done().size(), 9u);
  EXPECT_TRUE(found.log.left_out().empty());
}

TEST(Contract, EachFlawOfAModelIsNamed) {
  constexpr const char* kWritten = "a gradient is written whole, and nothing else";
  constexpr const char* kSum = "a gradient is a sum over samples";
  constexpr const char* kRepeats = "the same call gives the same bits";
  constexpr const char* kStart = "initialize writes the whole state, the same for one seed";
  constexpr const char* kParts = "gradient_in_parts gives the gradient, each element once";
  constexpr const char* kSlopes = "the gradient is that of the loss, by finite differences";
  const std::vector<Expected> all = {
      {"mean", kSum, {"0.5 times", "a mean", "do not divide by the number of samples"}},
      {"loss-mean", kSum, {"the loss of 4 samples", "a mean"}},
      {"mixes", kSum, {"element", "elements of its fields: 2, 1)", "mixes_samples()"}},
      {"weight", kSum, {"weight() of 4 samples is 1"}},
      {"answers-mean", kSum, {"the number of right answers of 4 samples", "a mean"}},
      {"nan-alone", kSum, {"of 4 samples is finite, the sum over its parts is not"}},
      {"adds", kWritten, {"adds to what the buffer held before", "'w'", "std::ranges::fill(gradient, 0.0F)"}},
      {"unwritten", kWritten, {"does not write element 0 of 'b'"}},
      {"beyond", kWritten, {"beyond its 3 elements"}},
      {"changes-state", kWritten, {"changes the state"}},
      {"nan", "losses and gradients are finite", {"element 0 of 'w'", "is nan"}},
      {"random", kRepeats, {"element 0 of 'w'", "not from rand()"}},
      {"remembers", kRepeats, {"after calls with other samples", "keeps nothing from call to call"}},
      {"thread", kRepeats, {"on another thread", "thread_local"}},
      {"random-start", kStart, {"two calls with seed 7 differ"}},
      {"start-unwritten", kStart, {"element 0 of 'b'"}},
      {"part-twice", kParts, {"element 0 of 'w' is said to be ready twice"}},
      {"part-missing", kParts, {"element 0 of 'w' is never said to be ready"}},
      {"evaluate-mean", "evaluate gives sums, and changes nothing", {"evaluate()'s loss", "a mean"}},
      {"evaluate-correct-mean", "evaluate gives sums, and changes nothing", {"right answers", "a mean"}},
      {"evaluate-random", "evaluate gives sums, and changes nothing", {"two calls of evaluate()"}},
      {"factor", kSlopes, {"'w'", "the gradient is 2", "in all 2 tensors that were tried", "a factor"}},
      {"factor-of-b", kSlopes, {"'b'", "the gradient is 3", "a factor in this tensor's part"}},
      {"sign", kSlopes, {"the wrong sign in all 2 tensors that were tried", "the optimizer subtracts it"}},
      {"no-gradient", kSlopes, {"the gradient is 0 in all tensors, but the loss changes with 'w'"}},
  };
  for (const Expected& expected : all) expect(expected, check(expected.flaw).breach);
}

TEST(Contract, WhereNoSlopeCanBeTriedNothingIsCalledGood) {
  const Found found = check("constant");
  EXPECT_FALSE(found.breach) << text_of(*found.breach);
  ASSERT_EQ(found.log.left_out().size(), 1u);
  EXPECT_EQ(found.log.left_out()[0].check, "the gradient is that of the loss, by finite differences");
  EXPECT_NE(found.log.left_out()[0].why.find("nothing could be tried"), std::string::npos);
  for (const std::string& done : found.log.done()) EXPECT_NE(done, found.log.left_out()[0].check);
}

TEST(Contract, AModelThatTakesMoreThanARowHasIsTold) {
  for (const std::size_t inputs : {3u, 50u, 10000u}) {
    for (const bool needs_finite : {true, false}) {
      const auto breach = check("reads-beyond", four_samples(), false, needs_finite, 7, inputs).breach;
      expect(
          {"reads-beyond",
           "a model reads its samples, and nothing beside them",
           {"gradient() reads beyond the end of its 4 samples", "2 float32 in field 0, 1 float32 in field 1",
            "model.inputs = " + std::to_string(inputs), "check_batch()"}},
          breach);
    }
  }
}

TEST(Contract, AModelThatTakesLessThanARowHasIsTold) {
  for (const std::uint32_t rows : {1u, 4u}) {
    const auto breach = check("reads-beyond", rows_of(four_samples(), 0, rows), false, true, 7, 1).breach;
    expect({"reads-beyond",
            "a gradient is a sum over samples",
            {"of the 2 numbers in field 0 of a sample it uses the first 1 alone", "model.inputs = 1"}},
           breach);
  }
}

TEST(Contract, ASampleThatIsNotFiniteIsNamed) {
  Batch batch = four_samples();
  batch.tensors[1].as<float>()[2] = std::numeric_limits<float>::infinity();
  expect({"", "losses and gradients are finite", {"field 1 of sample 2 of the first micro-batch is inf"}},
         check("", batch).breach);
}

// With many seeds, for by chance parts may be half of the whole, or twice.
TEST(Contract, ModelsThatDrawFromTheirKeyPass) {
  for (const char* manner :
       {"dropout", "noise", "drops-seldom", "draws-by-epoch", "draws-by-seed", "masked", "in-turn", "kink"}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      for (const std::uint32_t rows : {1u, 2u, 4u}) {
        const Found found = check(manner, rows_of(four_samples(), 0, rows), true, true, seed);
        ASSERT_FALSE(found.breach) << manner << ", seed " << seed << ": " << text_of(*found.breach);
      }
    }
  }
  EXPECT_EQ(check("noise").log.left_out().at(0).check, "a gradient is a sum over samples");
}

TEST(Contract, MeansAreFoundThoughTheModelDraws) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto breach = check("dropout-mean", four_samples(), false, true, seed).breach;
    if (!breach) continue;
    expect({"dropout-mean", "a gradient is a sum over samples", {"a mean"}}, breach);
    ++found;
  }
  EXPECT_GE(found, 15) << "of 20 seeds";
}

TEST(Contract, NumbersThatAreNotFiniteAreNotComparedWhereTheJobAllowsThem) {
  for (const char* flaw : {"nan", "inf", "nan-alone"}) {
    EXPECT_TRUE(check(flaw).breach) << flaw;
    const Found found = check(flaw, four_samples(), true, false);
    EXPECT_FALSE(found.breach) << flaw << ": " << text_of(*found.breach);
    EXPECT_FALSE(found.log.left_out().empty()) << flaw;
  }
}

TEST(Contract, ModelsForWholeBatchesOrOneThreadLeaveOutWhatTheyCannotDo) {
  const Found fours = check("fours");
  EXPECT_FALSE(fours.breach) << text_of(*fours.breach);
  EXPECT_EQ(fours.log.left_out().at(0).check, "a gradient is a sum over samples");
  const Found thread = check("one-thread");
  EXPECT_FALSE(thread.breach) << text_of(*thread.breach);
  EXPECT_EQ(thread.log.left_out().at(0).check, "the same call gives the same bits");
}

TEST(Contract, SlopesOfRoundingAreNotHeldAgainstTheLoss) {
  EXPECT_FALSE(check("rounds-to-nothing").breach);
}

/// A valley as steep as it is told: loss = steepness / 2 * w^2, for each sample.
class Valley final : public Model {
 public:
  Valley(double steepness, float sign) : steepness_(steepness), sign_(sign) {
    layout_.add_parameter("w", {1});
  }
  const Layout& layout() const override { return layout_; }
  void initialize(std::uint64_t, std::span<float> state) override { state[0] = 0.002F; }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey&,
                   std::span<float> gradient) override {
    const double weight = state[0];
    gradient[0] = sign_ * static_cast<float>(batch.rows * steepness_ * weight);
    return {.loss = batch.rows * steepness_ / 2 * weight * weight};
  }
  Metrics evaluate(std::span<const float>, const Batch&) override { return {}; }

 private:
  const double steepness_;
  const float sign_;
  Layout layout_;
};

// Within the largest step the loss falls and rises again: that is no kink.
TEST(Contract, AWrongSignInASteepValleyIsFound) {
  const Batch batch = four_samples();
  const auto check_valley = [&](float sign) {
    Valley model(1000, sign);
    std::vector<float> state(1);
    model.initialize(1, state);
    ContractLog log(kLong);
    return check_gradient_by_differences({model, state, batch, "model.name"}, 1, log);
  };
  const auto right = check_valley(1);
  EXPECT_FALSE(right) << text_of(*right);
  expect({"sign", "the gradient is that of the loss, by finite differences", {"'w'", "the wrong sign"}},
         check_valley(-1));
}

TEST(Contract, AveragesAreHalvesOnlyBeyondChance) {
  const std::vector<double> sums{2, 3, 2, 3, 2}, halves{1, 1.5, 1, 1.5, 1};
  EXPECT_TRUE(is_half(halves, sums));
  EXPECT_FALSE(is_half(sums, sums));
  EXPECT_FALSE(is_half(std::vector<double>{9, -9, 1, 8, -8}, std::vector<double>{-7, 9, 8, -9, 1}));
  EXPECT_FALSE(is_half(std::vector<double>{0, 0}, std::vector<double>{0, 0}));
}

TEST(Contract, MeansAreFoundWithOneSampleToo) {
  const Batch one = rows_of(four_samples(), 0, 1);
  expect({"mean", "a gradient is a sum over samples", {"of 2 samples", "a mean"}}, check("mean", one).breach);
  EXPECT_FALSE(check("", one).breach);
}

TEST(Contract, PaddingIsCheckedWhereTheJobPads) {
  EXPECT_FALSE(check("padding").breach);
  EXPECT_FALSE(check("", four_samples(), true).breach);
  expect({"padding", "padding changes nothing", {"4 rows of padding", "batch.rows"}},
         check("padding", four_samples(), true).breach);
}

TEST(Contract, NoCheckBeginsWhenTimeIsOver) {
  auto now = ContractLog::Clock::time_point{};
  ContractLog log(std::chrono::milliseconds(100), [&] { return now; });
  EXPECT_TRUE(log.begin("first"));
  now += std::chrono::milliseconds(100);
  EXPECT_FALSE(log.begin("second"));
  EXPECT_EQ(log.done(), std::vector<std::string>{"first"});
  ASSERT_EQ(log.left_out().size(), 1u);
  EXPECT_EQ(log.left_out()[0].check, "second");
  EXPECT_EQ(log.left_out()[0].why, "no time was left of 100 ms");
}

TEST(Contract, LayoutsNameEachTensorOnceWithoutGaps) {
  const auto found = [](const char* flaw) {
    return check_layout(broken::Regression(flaw, 2).layout(), "model.name");
  };
  constexpr const char* kLayout = "the layout names each tensor once, without gaps";
  EXPECT_FALSE(found(""));
  expect({"two-names", kLayout, {"two tensors have the name 'w'"}}, found("two-names"));
  expect({"gap", kLayout, {"'b' begins at 3, the one before it ends at 2"}}, found("gap"));
  Layout wrong = broken::Regression("", 2).layout();
  wrong.parameters = 1;
  expect({"across", kLayout, {"'w' lies across the end of the parameters"}}, check_layout(wrong, ""));
  wrong.parameters = 7;
  expect({"sum", kLayout, {"have 3 elements, the layout says 7"}}, check_layout(wrong, ""));
  wrong = broken::Regression("", 2).layout();
  wrong.entries[0].count = 5;
  expect({"count", kLayout, {"'w' has 5 elements, its shape [2] has 2"}}, check_layout(wrong, ""));
}

std::optional<Breach> check_sums(const std::string& flaw) {
  broken::Sums source(flaw, 100);
  ContractLog log(kLong);
  SourceTrial trial{source};
  trial.positions = 20;
  trial.look = [model = std::make_shared<broken::Regression>("", 2)](const Batch& batch) {
    model->check_batch(batch);
  };
  return check_source(trial, log);
}

TEST(Contract, EachFlawOfASourceIsNamed) {
  constexpr const char* kReads = "each sample can be read, with the same bytes each time";
  constexpr const char* kFields = "a source says its size and its fields";
  constexpr const char* kFingerprint = "the fingerprint is there, and stays";
  const std::vector<Expected> all = {
      {"column-missing", kReads, {"read(0) of 100 leaves 4 bytes of field 0 (12 bytes)", "from byte 8"}},
      {"read-beyond", kReads, {"writes beyond field 1 (4 bytes)"}},
      {"read-random", kReads, {"gives other bytes the second time"}},
      {"read-throw-number", kReads, {"read(0) of 100 fails: something that is no std::exception"}},
      {"size", kReads, {"read(1000099) of 1000100 fails: vector::at", "does size() count what is there?"}},
      {"no-fields", kFields, {"declares no fields"}},
      {"shape", kFields, {"field 0 has an impossible shape"}},
      {"fingerprint-empty", kFingerprint, {"is empty"}},
      {"fingerprint-changes", kFingerprint, {"'sums1', and then 'sums2'"}},
  };
  EXPECT_FALSE(check_sums("")) << text_of(*check_sums(""));
  for (const Expected& expected : all) {
    const auto breach = check_sums(expected.flaw);
    expect(expected, breach);
    if (breach) {
      EXPECT_EQ(breach->key, "data.source");
    }
  }
}

TEST(Contract, SamplesThatDoNotFitTheModelAreNamed) {
  broken::Sums source("", 100);
  ContractLog log(kLong);
  SourceTrial trial{source};
  trial.look = [](const Batch& batch) { broken::Regression("", 3).check_batch(batch); };
  try {
    check_source(trial, log);
    FAIL() << "nothing was found";
  } catch (const JobError& error) {
    EXPECT_EQ(error.key(), "model.inputs");
    EXPECT_STREQ(error.what(), "samples have another number of inputs (train source, read(0) of 100)");
  }
  trial.look = [](const Batch&) { throw std::runtime_error("too dark"); };
  expect(
      {"look", "the samples fit the model", {"read(0) of 100: too dark", "labels with the model's options"}},
      check_source(trial, log));
}

TEST(Contract, GeneratorsAreOpenedOnlyWhenAsked) {
  pipeline_test::CountingGenerators source({3, 5});
  ContractLog log(kLong);
  SourceTrial trial{source};
  trial.shards = 2;
  EXPECT_FALSE(check_source(trial, log));
  EXPECT_EQ(source.opened, 0);
  ASSERT_EQ(log.left_out().size(), 1u);
  trial.opens_generators = true;
  EXPECT_FALSE(check_source(trial, log));
  EXPECT_EQ(source.opened, 4) << "each shard twice";
  source.fail_after = 0;
  expect({"fails", "a generator gives the same samples each time it is opened", {"the disk is slow today"}},
         check_source(trial, log));
}

TEST(Contract, RowsAreTakenAndRepeatedWithTheirBytes) {
  const Batch all = four_samples();
  const Batch two = rows_of(all, 1, 3);
  EXPECT_EQ(two.rows, 2u);
  EXPECT_EQ(two.tensors[0].shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_TRUE(std::ranges::equal(two.tensors[0].as<float>(), all.tensors[0].as<float>().subspan(2, 4)));
  const Batch doubled = twice(two);
  EXPECT_EQ(doubled.rows, 4u);
  EXPECT_TRUE(std::ranges::equal(doubled.tensors[1].as<float>().last(2), two.tensors[1].as<float>()));
  const Batch more = padded(two, 3);
  EXPECT_EQ(more.rows, 2u);
  EXPECT_EQ(more.padding, 3u);
  EXPECT_EQ(more.tensors[1].as<float>().size(), 5u);
}

TEST(Contract, RoundingOfWhatIsNearZeroIsNoDifference) {
  Layout layout;
  layout.add_parameter("large", {2});
  layout.add_parameter("noise", {1});
  const float expected[] = {100, -50, 1e-6F}, found[] = {100.01F, -50, -2e-6F}, mean[] = {50, -25, 0};
  EXPECT_EQ(compare_sums(layout, found, expected, expected, 1e-3).worst, SumComparison::kNone);
  const float zero[] = {1e-5F, 0, 0}, nothing[] = {0, 0, 0}, sizes[] = {1, 1, 1};
  EXPECT_EQ(compare_sums(layout, zero, nothing, sizes, 1e-3).worst, SumComparison::kNone)
      << "parts cancel out";
  EXPECT_EQ(compare_sums(layout, found, expected, expected, 1e-5).worst, 0u);
  EXPECT_TRUE(compare_sums(layout, mean, expected, expected, 1e-3).looks_like_mean);
}

}  // namespace
}  // namespace muster
