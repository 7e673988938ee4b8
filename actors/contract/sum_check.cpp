#include "actors/contract/sum_check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/row_check.hpp"
#include "actors/contract/sums.hpp"
#include "gpu/optimizer/block_hash.hpp"

namespace muster {

namespace {

const std::string kSum = "a gradient is a sum over samples";
const std::string kEvaluates = "evaluate gives sums, and changes nothing";
const std::string kPadding = "padding changes nothing";
const char* const kReturnSums =
    "do not divide by the number of samples: Muster divides once, by all samples of the step";
constexpr double kTolerance = 0.05;

// A batch, and parts of it that make it up.
struct Split {
  Batch whole;
  std::vector<Batch> parts;
  double times = 1;  // so often do they
  std::string name;
};

Split split_of(const TriedModel& model, const Batch& batch) {
  if (batch.rows < 2 || model.trial().model.mixes_samples())
    return {twice(batch), {rows_of(batch, 0, batch.rows)}, 2, "twice its half"};
  const std::uint32_t half = batch.rows / 2;
  return {rows_of(batch, 0, batch.rows),
          {rows_of(batch, 0, half), rows_of(batch, half, batch.rows)},
          1,
          "the sum over its parts"};
}

struct Sums {
  Metrics metrics;
  std::vector<float> gradient;  // of the parameters alone where samples mix
  // Where parts cancel out, their rounding stays.
  double loss_size = 0;
  std::vector<float> sizes;

  bool finite() const {
    return std::isfinite(metrics.loss) &&
           std::ranges::all_of(gradient, [](float value) { return std::isfinite(value); });
  }
};

class SumCheck {
 public:
  SumCheck(TriedModel& model, ContractLog& log)
      : model_(model), log_(log), split_(split_of(model, model.batch())), scratch_(model.layout().total()) {}

  std::optional<Breach> run() {
    if (!log_.begin(kSum)) return std::nullopt;
    if (auto breach = weights()) return breach;
    const Sums whole = of_whole(model_.first_key()), parts = of_parts(model_.first_key());
    if (!whole.finite() || !parts.finite()) return not_finite(parts);
    const SumComparison sums =
        compare_sums(model_.layout(), whole.gradient, parts.gradient, parts.sizes, kTolerance);
    const bool loss_fits = std::abs(whole.metrics.loss - parts.metrics.loss) <= kTolerance * parts.loss_size;
    if (sums.worst == SumComparison::kNone && loss_fits) return right_answers(whole, parts);
    if (model_.draws(log_)) return on_average(parts.gradient);
    if (sums.looks_like_mean)
      return broken(
          "the gradient" + of_rows() + " is " + figure(sums.factor) + " times " + split_.name + ": a mean",
          kReturnSums);
    if (!loss_fits && close(2 * whole.metrics.loss, parts.metrics.loss, kTolerance))
      return broken(compared("the loss", whole.metrics.loss, parts.metrics.loss) + ": a mean", kReturnSums);
    if (!model_.is_exact()) return std::nullopt;
    if (!loss_fits)
      return broken(compared("the loss", whole.metrics.loss, parts.metrics.loss), depends_on_others());
    return broken(
        compared(model_.element(sums.worst), whole.gradient[sums.worst], parts.gradient[sums.worst]),
        depends_on_others());
  }

 private:
  Breach broken(const std::string& found, const std::string& likely) const {
    return model_.broken(kSum, found, likely);
  }
  std::string depends_on_others() {
    if (const std::string misread = misread_rows(model_); !misread.empty()) return misread;
    std::string sizes;
    for (const Tensor& tensor : split_.whole.tensors)
      sizes += (sizes.empty() ? "" : ", ") +
               std::to_string(Field{tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()}}.count());
    return "a sample's gradient must not depend on the others of its batch: does the model read more of a "
           "sample than there is (elements of its fields: " +
           sizes +
           ")? A model where it does depend on others (batch normalization) says so by mixes_samples()";
  }
  std::string of_rows() const { return " of " + std::to_string(split_.whole.rows) + " samples"; }
  std::string compared(const std::string& what, double whole, double parts) const {
    return what + of_rows() + " is " + figure(whole) + ", " + split_.name + " " + figure(parts);
  }

  // A batch may weigh nothing: all its labels are masked, say.
  std::optional<Breach> weights() const {
    const Model& model = model_.trial().model;
    const double whole = model.weight(split_.whole);
    double parts = 0;
    for (const Batch& part : split_.parts) parts += split_.times * model.weight(part);
    if (whole >= 0 && close(whole, parts, 1e-6)) return std::nullopt;
    return broken(compared("weight()", whole, parts),
                  "a batch weighs its number of samples, or of what else the loss is summed over");
  }

  Sums of(const Batch& batch, const StepKey& key) {
    Sums sums;
    sums.metrics = model_.gradient(batch, scratch_, key);
    const auto values = scratch_.values();
    const bool mixes = model_.trial().model.mixes_samples();
    const auto compared = values.first(mixes ? model_.layout().parameters : values.size());
    sums.gradient.assign(compared.begin(), compared.end());
    sums.loss_size = std::abs(sums.metrics.loss);
    sums.sizes.resize(compared.size());
    std::ranges::transform(compared, sums.sizes.begin(), [](float value) { return std::abs(value); });
    return sums;
  }
  Sums of_whole(const StepKey& key) { return of(split_.whole, key); }
  Sums of_parts(const StepKey& key) {
    Sums all = of(split_.parts.front(), key);
    for (std::size_t i = 1; i < split_.parts.size(); ++i) {
      const Sums more = of(split_.parts[i], key);
      all.metrics.loss += more.metrics.loss;
      all.metrics.correct += more.metrics.correct;
      all.loss_size += more.loss_size;
      std::ranges::transform(all.gradient, more.gradient, all.gradient.begin(), std::plus<>());
      std::ranges::transform(all.sizes, more.sizes, all.sizes.begin(), std::plus<>());
    }
    all.loss_size *= split_.times;
    all.metrics.loss *= split_.times;
    all.metrics.correct *= split_.times;
    for (auto* values : {&all.gradient, &all.sizes}) {
      for (float& value : *values) value *= static_cast<float>(split_.times);
    }
    return all;
  }

  std::optional<Breach> not_finite(const Sums& parts) {
    if (model_.trial().needs_finite)
      return broken("the loss or gradient" + of_rows() +
                        (parts.finite() ? " is not finite, " : " is finite, ") + split_.name +
                        (parts.finite() ? " is" : " is not"),
                    "a usual cause is a division by a number of labels or tokens, which may be 0");
    log_.give_up(kSum, "the numbers are not finite, which train.not_finite = \"report\" allows");
    return std::nullopt;
  }

  // A number of right answers that is no whole number was divided by something.
  std::optional<Breach> right_answers(const Sums& whole, const Sums& parts) const {
    const double found = whole.metrics.correct, expected = parts.metrics.correct;
    const bool is_mean = found != std::floor(found) && close(2 * found, expected, kTolerance);
    if (!is_mean || model_.trial().model.mixes_samples()) return std::nullopt;
    return broken(compared("the number of right answers", found, expected) + ": a mean", kReturnSums);
  }

  // The gradients are compared along one of them.
  std::optional<Breach> on_average(const std::vector<float>& along) {
    constexpr std::size_t kKeys = 32;
    std::vector<double> loss_of_whole, loss_of_parts, slope_of_whole, slope_of_parts;
    const auto slope = [&](const Sums& sums) {
      return std::inner_product(along.begin(), along.end(), sums.gradient.begin(), 0.0);
    };
    for (std::uint64_t number = 1; number <= kKeys && !log_.time_is_over(); ++number) {
      const Sums whole = of_whole(model_.other_key(2 * number));
      const Sums parts = of_parts(model_.other_key(2 * number + 1));
      loss_of_whole.push_back(whole.metrics.loss);
      loss_of_parts.push_back(parts.metrics.loss);
      slope_of_whole.push_back(slope(whole));
      slope_of_parts.push_back(slope(parts));
    }
    const bool enough = loss_of_whole.size() == kKeys;
    if (enough && is_half(slope_of_whole, slope_of_parts))
      return broken("the gradient" + of_rows() + " is on average half of " + split_.name + ": a mean",
                    kReturnSums);
    if (enough && is_half(loss_of_whole, loss_of_parts))
      return broken("the loss" + of_rows() + " is on average half of " + split_.name + ": a mean",
                    kReturnSums);
    log_.give_up(kSum, "the model draws random numbers for each step, which parts of a batch do not share" +
                           std::string(enough ? ": only a mean would have been found" : ""));
    return std::nullopt;
  }

  TriedModel& model_;
  ContractLog& log_;
  const Split split_;
  GuardedFloats scratch_;
};

}  // namespace

std::optional<Breach> check_sums(TriedModel& model, ContractLog& log) {
  if (!model.trial().may_split) {
    log.leave_out(kSum, "ready-made batches are not split");
    return std::nullopt;
  }
  try {
    return SumCheck(model, log).run();
  } catch (const std::exception& error) {  // it took the whole
    log.give_up(kSum, "the model takes no part, or no multiple, of a batch: " + std::string(error.what()));
    return std::nullopt;
  }
}

std::optional<Breach> check_evaluate(TriedModel& model, ContractLog& log) {
  const ModelTrial& trial = model.trial();
  if (trial.test == nullptr || !log.begin(kEvaluates)) return std::nullopt;
  const std::uint64_t before = block_hash(trial.state);
  const Split split = split_of(model, *trial.test);
  const Metrics whole = trial.model.evaluate(trial.state, split.whole);
  if (block_hash(trial.state) != before)
    return model.broken(kEvaluates, "evaluate() changes the state that it is given",
                        "the optimizer alone changes weights: work on a copy");
  if (trial.needs_finite && !std::isfinite(whole.loss))
    return model.broken(kEvaluates, "evaluate()'s loss is " + figure(whole.loss), "");
  if (whole.correct < 0 || (trial.needs_finite && !std::isfinite(whole.correct)))
    return model.broken(kEvaluates, "evaluate() counts " + figure(whole.correct) + " right answers", "");
  const Metrics again = trial.model.evaluate(trial.state, split.whole);
  if (trial.needs_finite && (again.loss != whole.loss || again.correct != whole.correct))
    return model.broken(kEvaluates,
                        "two calls of evaluate() on the same batch differ: loss " + figure(whole.loss) +
                            " and " + figure(again.loss) + ", right answers " + figure(whole.correct) +
                            " and " + figure(again.correct),
                        "evaluation draws no random numbers, and keeps nothing from call to call");
  if (!trial.may_split) return std::nullopt;
  Metrics parts;
  for (const Batch& part : split.parts) {
    if (log.time_is_over()) return std::nullopt;
    const Metrics of_part = trial.model.evaluate(trial.state, part);
    parts.loss += split.times * of_part.loss;
    parts.correct += split.times * of_part.correct;
  }
  const auto is_mean = [](double all, double sum) {
    return !close(all, sum, kTolerance) && close(2 * all, sum, kTolerance);
  };
  const auto mean = [&](const std::string& what, double all, double sum) {
    return model.broken(kEvaluates,
                        what + " of " + std::to_string(split.whole.rows) + " samples is " + figure(all) +
                            ", " + split.name + " " + figure(sum) + ": a mean",
                        "return the sum over the batch's samples");
  };
  if (is_mean(whole.loss, parts.loss)) return mean("evaluate()'s loss", whole.loss, parts.loss);
  if (is_mean(whole.correct, parts.correct))
    return mean("evaluate()'s number of right answers", whole.correct, parts.correct);
  return std::nullopt;
}

std::optional<Breach> check_padding(TriedModel& model, ContractLog& log) {
  if (!model.trial().pads || !model.is_exact() || !log.begin(kPadding)) return std::nullopt;
  const Batch more = padded(model.batch(), model.batch().rows);
  GuardedFloats gradient(model.layout().total());
  const Metrics found = model.gradient(more, gradient, model.first_key());
  if (same_bits(gradient.values(), model.first().values())) return std::nullopt;
  const SumComparison sums = compare_sums(model.layout(), gradient.values(), model.first().values(),
                                          model.first().values(), kTolerance);
  if (sums.worst == SumComparison::kNone && close(found.loss, model.metrics().loss, kTolerance))
    return std::nullopt;
  if (!std::isfinite(model.metrics().loss) || model.draws(log)) {
    log.give_up(kPadding, "random numbers, or such as are not finite, have a say");
    return std::nullopt;
  }
  return model.broken(
      kPadding,
      "with " + std::to_string(more.padding) + " rows of padding the loss is " + figure(found.loss) +
          ", without " + figure(model.metrics().loss),
      "rows from batch.rows on are padding: count rows by batch.rows, not by the tensor's shape");
}

}  // namespace muster
