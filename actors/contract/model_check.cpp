#include "muster/actors/contract/model_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "muster/actors/contract/batch_rows.hpp"
#include "muster/actors/contract/guarded_vector.hpp"
#include "muster/actors/contract/layout_check.hpp"
#include "muster/actors/contract/sums.hpp"
#include "muster/gpu/block_hash.hpp"

namespace muster {

namespace {

const std::string kInitialized = "initialize writes the whole state, the same for one seed";
const std::string kWritten = "a gradient is written whole, and nothing else";
const std::string kFinite = "losses and gradients are finite";
const std::string kEvaluates = "evaluate gives sums, and changes nothing";
const std::string kSum = "a gradient is a sum over samples";
const std::string kRepeats = "the same call gives the same bits";
const std::string kParts = "gradient_in_parts gives the gradient, each element once";
const std::string kPadding = "padding changes nothing";

bool same_bits(std::span<const float> one, std::span<const float> other) {
  return std::memcmp(one.data(), other.data(), one.size_bytes()) == 0;
}

std::size_t first_difference(std::span<const float> one, std::span<const float> other) {
  std::size_t index = 0;
  while (index < one.size() && std::memcmp(&one[index], &other[index], sizeof(float)) == 0) ++index;
  return index;
}

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

class ModelCheck {
 public:
  ModelCheck(const ModelTrial& trial, ContractLog& log)
      : trial_(trial),
        log_(log),
        layout_(trial.model.layout()),
        state_hash_(block_hash(trial.state)),
        first_(layout_.total()),
        other_(layout_.total()) {}

  std::optional<Breach> run() {
    using Check = std::optional<Breach> (ModelCheck::*)();
    // Of a large model there is time for the first ones only: what goes wrong most often comes first.
    constexpr Check kChecks[] = {&ModelCheck::written, &ModelCheck::finite,     &ModelCheck::sum,
                                 &ModelCheck::repeats, &ModelCheck::evaluates,  &ModelCheck::parts,
                                 &ModelCheck::padding, &ModelCheck::initialized};
    for (const Check check : kChecks) {
      if (auto breach = (this->*check)()) return breach;
    }
    return std::nullopt;
  }

 private:
  Breach broken(const std::string& check, const std::string& found, const std::string& likely) const {
    return {trial_.key, check, found, likely};
  }

  Metrics gradient(const Batch& batch, GuardedFloats& into, float before = GuardedFloats::poison(),
                   std::uint64_t step = 1) {
    into.fill(before);
    return trial_.model.gradient(trial_.state, batch, {trial_.seed, 1, step, 0}, into.span());
  }

  std::string element(std::size_t index) const { return element_text(layout_, index); }

  std::optional<Breach> initialized() {
    if (!log_.begin(kInitialized)) return std::nullopt;
    other_.fill(GuardedFloats::poison());
    trial_.model.initialize(trial_.seed, other_.span());
    if (!other_.margins_are_whole())
      return broken(kInitialized,
                    "initialize() writes beyond the state's " + std::to_string(layout_.total()) + " elements",
                    "its size is layout().total()");
    const auto values = other_.values();
    const auto missing = std::ranges::find_if(values, GuardedFloats::is_poison);
    if (missing != values.end())
      return broken(kInitialized,
                    element(static_cast<std::size_t>(missing - values.begin())) + " is not written",
                    "initialize() sets every parameter and buffer");
    if (same_bits(values, trial_.state)) return std::nullopt;
    return broken(kInitialized,
                  "two calls with seed " + std::to_string(trial_.seed) + " differ in " +
                      element(first_difference(values, trial_.state)),
                  "take random numbers from the seed alone (muster/gpu/random.hpp), not from rand() or "
                  "std::random_device");
  }

  // An element that keeps what was there before was left out, or added to.
  std::optional<Breach> written() {
    if (!log_.begin(kWritten)) return std::nullopt;
    metrics_ = gradient(trial_.batch, first_);
    computed_ = true;
    if (!first_.margins_are_whole())
      return broken(kWritten, "gradient() writes beyond its " + std::to_string(layout_.total()) + " elements",
                    "the span has the layout's size; compare the indices with the layout");
    if (auto breach = state_stays(kWritten, "gradient()")) return breach;
    const auto values = first_.values();
    const auto kept = std::ranges::count_if(values, GuardedFloats::is_poison);
    if (kept == 0) return std::nullopt;
    const auto index =
        static_cast<std::size_t>(std::ranges::find_if(values, GuardedFloats::is_poison) - values.begin());
    gradient(trial_.batch, first_, 0.0F);
    const float on_zero = first_.span()[index];
    gradient(trial_.batch, first_, 1024.0F);
    if (first_.span()[index] != 1024.0F || on_zero != 0.0F)
      return broken(kWritten, "gradient() adds to what the buffer held before (" + element(index) + ")",
                    "set it to 0 first: std::ranges::fill(gradient, 0.0F)");
    return broken(kWritten,
                  "gradient() does not write " + element(index) +
                      (kept > 1 ? " and " + std::to_string(kept - 1) + " more" : ""),
                  "write every element; where nothing depends on it, a 0");
  }

  std::optional<Breach> state_stays(const std::string& check, const std::string& call) const {
    if (block_hash(trial_.state) == state_hash_) return std::nullopt;
    return broken(check, call + " changes the state that it is given",
                  "the optimizer alone changes weights: work on a copy");
  }

  std::optional<Breach> finite() {
    if (!trial_.needs_finite || !computed_) return std::nullopt;
    log_.note(kFinite);  // it takes no time
    std::string what;
    const auto values = first_.values();
    const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
    if (!std::isfinite(metrics_.loss)) {
      what = "the loss of the first samples is " + figure(metrics_.loss);
    } else if (bad != values.end()) {
      what =
          element(static_cast<std::size_t>(bad - values.begin())) + " of their gradient is " + figure(*bad);
    } else {
      return std::nullopt;
    }
    if (!all_finite(trial_.batch))
      return broken(kFinite, what, "the samples themselves have a NaN or Inf: look at what the source reads");
    return broken(kFinite, what,
                  "usual causes are a label that the model has no class for, log(0), and a division by 0");
  }

  // Whether randomness that depends on the step has a say: then halves have other random numbers than the
  // whole.
  bool draws_by_step() {
    if (!draws_) {
      GuardedFloats of_next_step(layout_.total());
      gradient(trial_.batch, of_next_step, GuardedFloats::poison(), 2);
      draws_ = !same_bits(first_.values(), of_next_step.values());
    }
    return *draws_;
  }

  // What is wrong is so by much; rounding is not, in float32. Of two samples in bfloat16, or of samples that
  // mix, only a mean can be told from what is right.
  static constexpr double kTolerance = 0.05;
  bool is_exact() const { return !trial_.bfloat16 && !trial_.model.mixes_samples(); }

  std::optional<Breach> evaluates() {
    if (!log_.begin(kEvaluates)) return std::nullopt;
    const Metrics found = trial_.model.evaluate(trial_.state, trial_.batch);
    if (auto breach = state_stays(kEvaluates, "evaluate()")) return breach;
    const auto rows = trial_.batch.rows;
    if (rows > 1 && close(found.loss * rows, metrics_.loss, kTolerance) &&
        !close(found.loss, metrics_.loss, 0.25))
      return broken(kEvaluates,
                    "evaluate()'s loss of " + std::to_string(rows) + " samples is " + figure(found.loss) +
                        ", gradient()'s is " + figure(metrics_.loss) + ": a mean",
                    "return the sum over the batch's samples");
    if (trial_.needs_finite && !std::isfinite(found.loss))
      return broken(kEvaluates, "evaluate()'s loss is " + figure(found.loss), "");
    if (found.correct < 0 || !std::isfinite(found.correct))
      return broken(kEvaluates, "evaluate() counts " + figure(found.correct) + " right answers", "");
    return std::nullopt;
  }

  // By halves; where samples mix or there is only one, by the batch taken twice.
  std::optional<Breach> sum() {
    if (!log_.begin(kSum)) return std::nullopt;
    const bool by_halves = trial_.batch.rows > 1 && !trial_.model.mixes_samples();
    if (by_halves) {
      const std::uint32_t half = trial_.batch.rows / 2;
      return by_parts(rows_of(trial_.batch, 0, half), rows_of(trial_.batch, half, trial_.batch.rows));
    }
    return by_double();
  }

  std::optional<Breach> by_parts(const Batch& one, const Batch& two) {
    const Metrics of_one = gradient(one, other_);
    GuardedFloats rest(layout_.total());
    const Metrics of_two = gradient(two, rest);
    std::ranges::transform(other_.span(), rest.span(), other_.span().begin(), std::plus<>());
    const Metrics together{of_one.loss + of_two.loss, of_one.correct + of_two.correct};
    const double weight = trial_.model.weight(one) + trial_.model.weight(two);
    return compare({trial_.batch, metrics_, first_.values()},
                   {together, other_.values(), weight, "the sum over its parts"});
  }

  std::optional<Breach> by_double() {
    const Batch two = twice(trial_.batch);
    const Metrics of_two = gradient(two, other_);
    GuardedFloats sum(layout_.total());
    std::ranges::transform(first_.values(), sum.span().begin(), [](float value) { return 2 * value; });
    const std::size_t compared = trial_.model.mixes_samples() ? layout_.parameters : layout_.total();
    return compare({two, of_two, other_.values().first(compared)}, {{2 * metrics_.loss, 2 * metrics_.correct},
                                                                    sum.values().first(compared),
                                                                    2 * trial_.model.weight(trial_.batch),
                                                                    "twice its half"});
  }

  struct Whole {
    const Batch& batch;
    Metrics metrics;
    std::span<const float> gradient;
  };
  struct Expected {
    Metrics metrics;
    std::span<const float> gradient;
    double weight;
    std::string name;
  };

  std::optional<Breach> compare(const Whole& whole, const Expected& expected) {
    const std::string of_rows = " of " + std::to_string(whole.batch.rows) + " samples";
    const SumComparison sums = compare_sums(layout_, whole.gradient, expected.gradient, kTolerance);
    const char* return_sums =
        "do not divide by the number of samples: Muster divides once, by all samples of the step";
    if (sums.looks_like_mean)
      return broken(
          kSum,
          "the gradient" + of_rows + " is " + figure(sums.factor) + " times " + expected.name + ": a mean",
          return_sums);
    const double weight = trial_.model.weight(whole.batch);
    if (!(weight > 0) || !close(weight, expected.weight, 1e-6))
      return broken(kSum,
                    "weight()" + of_rows + " is " + figure(weight) + ", " + expected.name + " " +
                        figure(expected.weight),
                    "a batch weighs its number of samples, or of what else the loss is summed over");
    const bool loss_fits = close(whole.metrics.loss, expected.metrics.loss, kTolerance);
    const bool is_mean = close(2 * whole.metrics.loss, expected.metrics.loss, kTolerance);
    if (!loss_fits && is_mean)
      return broken(kSum,
                    "the loss" + of_rows + " is " + figure(whole.metrics.loss) + ", " + expected.name + " " +
                        figure(expected.metrics.loss) + ": a mean",
                    return_sums);
    if ((sums.worst == SumComparison::kNone && loss_fits) || !is_exact()) return std::nullopt;
    if (draws_by_step()) return leave_out_random();
    if (!loss_fits)
      return broken(kSum,
                    "the loss" + of_rows + " is " + figure(whole.metrics.loss) + ", " + expected.name + " " +
                        figure(expected.metrics.loss),
                    kMixes);
    return broken(kSum,
                  element(sums.worst) + of_rows + " is " + figure(whole.gradient[sums.worst]) + ", " +
                      expected.name + " is " + figure(expected.gradient[sums.worst]),
                  kMixes);
  }

  std::optional<Breach> leave_out_random() {
    log_.leave_out(kSum, "the model draws random numbers for each step, which parts of a batch do not share");
    return std::nullopt;
  }

  // The calls before this one are the other ones in between.
  std::optional<Breach> repeats() {
    if (!log_.begin(kRepeats)) return std::nullopt;
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        gradient(trial_.batch, other_);
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
    if (same_bits(first_.values(), other_.values())) return std::nullopt;
    const std::string where = element(first_difference(first_.values(), other_.values()));
    GuardedFloats once(layout_.total());
    gradient(trial_.batch, other_);
    gradient(trial_.batch, once);
    if (!same_bits(once.values(), other_.values()))
      return broken(
          kRepeats, "two calls with the same state, samples and key differ in " + where,
          "draw random numbers from StepKey alone (muster/gpu/random.hpp), not from rand() or the clock; "
          "set what is added up to 0 first");
    if (!same_bits(first_.values(), other_.values()))
      return broken(
          kRepeats, "the gradient after calls with other samples differs in " + where,
          "a model keeps nothing from call to call: give it no members that gradient() or evaluate() change");
    return broken(kRepeats, "the gradient on another thread differs in " + where,
                  "a thread_local, or a generator or rounding mode of the thread, has a say");
  }

  std::optional<Breach> parts() {
    if (!log_.begin(kParts)) return std::nullopt;
    std::vector<bool> said(layout_.total());
    std::string mistake;
    other_.fill(GuardedFloats::poison());
    trial_.model.gradient_in_parts(
        trial_.state, trial_.batch, {trial_.seed, 1, 1, 0}, other_.span(),
        [&](std::size_t begin, std::size_t count) {
          if (begin > said.size() || count > said.size() - begin) {
            mistake = "elements " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                      " are said to be ready; there are " + std::to_string(said.size());
            return;
          }
          for (std::size_t i = begin; i < begin + count; ++i) {
            if (said[i]) mistake = element(i) + " is said to be ready twice";
            said[i] = true;
          }
        });
    const auto unsaid = std::ranges::find(said, false);
    if (mistake.empty() && unsaid != said.end())
      mistake = element(static_cast<std::size_t>(unsaid - said.begin())) + " is never said to be ready";
    if (mistake.empty() && !same_bits(first_.values(), other_.values()))
      mistake =
          "it differs from gradient() in " + element(first_difference(first_.values(), other_.values()));
    if (mistake.empty()) return std::nullopt;
    return broken(kParts, mistake, "all elements are said once, when their last bit is written");
  }

  std::optional<Breach> padding() {
    if (!trial_.pads || !is_exact() || !log_.begin(kPadding)) return std::nullopt;
    const Batch more = padded(trial_.batch, trial_.batch.rows);
    const Metrics found = gradient(more, other_);
    const SumComparison sums = compare_sums(layout_, other_.values(), first_.values(), kTolerance);
    if (sums.worst == SumComparison::kNone && close(found.loss, metrics_.loss, kTolerance))
      return std::nullopt;
    if (draws_by_step()) return std::nullopt;
    return broken(kPadding,
                  "with " + std::to_string(more.padding) + " rows of padding the loss is " +
                      figure(found.loss) + ", without " + figure(metrics_.loss),
                  "rows from batch.rows on are padding: count rows by batch.rows, not by the tensor's shape");
  }

  static constexpr const char* kMixes =
      "a sample's gradient must not depend on the others of its batch; a model where it does (batch "
      "normalisation) "
      "says so by mixes_samples()";

  const ModelTrial& trial_;
  ContractLog& log_;
  const Layout& layout_;
  const std::uint64_t state_hash_;
  GuardedFloats first_, other_;
  Metrics metrics_;
  bool computed_ = false;  // first_ and metrics_
  std::optional<bool> draws_;
};

}  // namespace

std::optional<Breach> check_model(const ModelTrial& trial, ContractLog& log) {
  return ModelCheck(trial, log).run();
}

}  // namespace muster
