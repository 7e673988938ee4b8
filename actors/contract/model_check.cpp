#include "actors/contract/model_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/guarded_vector.hpp"
#include "actors/contract/layout_check.hpp"
#include "actors/contract/row_check.hpp"
#include "actors/contract/sum_check.hpp"
#include "actors/pipeline/batch_check.hpp"
#include "gpu/optimizer/block_hash.hpp"

namespace muster {

namespace {

const std::string kInitialized = "initialize writes the whole state, the same for one seed";
const std::string kWritten = "a gradient is written whole, and nothing else";
const std::string kFinite = "losses and gradients are finite";
const std::string kRepeats = "the same call gives the same bits";
const std::string kParts = "gradient_in_parts gives the gradient, each element once";

std::size_t first_difference(std::span<const float> one, std::span<const float> other) {
  std::size_t index = 0;
  while (index < one.size() && std::memcmp(&one[index], &other[index], sizeof(float)) == 0) ++index;
  return index;
}

class ModelCheck {
 public:
  ModelCheck(const ModelTrial& trial, ContractLog& log)
      : trial_(trial),
        log_(log),
        model_(trial),
        state_hash_(block_hash(trial.state)),
        other_(model_.layout().total()) {}

  // Of a large model there is time for the first ones only: what goes wrong most often comes first.
  std::optional<Breach> run() {
    if (auto breach = written()) return breach;
    if (auto breach = check_rows(model_, log_)) return breach;
    if (auto breach = finite()) return breach;
    if (auto breach = check_sums(model_, log_)) return breach;
    if (auto breach = repeats()) return breach;
    if (auto breach = check_evaluate(model_, log_)) return breach;
    if (auto breach = parts()) return breach;
    if (auto breach = check_padding(model_, log_)) return breach;
    return initialized();
  }

 private:
  Breach broken(const std::string& check, const std::string& found, const std::string& likely) const {
    return model_.broken(check, found, likely);
  }
  std::string element(std::size_t index) const { return model_.element(index); }
  std::size_t total() const { return model_.layout().total(); }
  std::span<const float> first() const { return model_.first().values(); }

  Metrics gradient(GuardedFloats& into, float before = GuardedFloats::poison()) {
    return model_.gradient(model_.batch(), into, model_.first_key(), before);
  }

  std::optional<Breach> initialized() {
    if (!log_.begin(kInitialized)) return std::nullopt;
    other_.fill(GuardedFloats::poison());
    trial_.model.initialize(trial_.seed, other_.span());
    if (!other_.margins_are_whole())
      return broken(kInitialized,
                    "initialize() writes beyond the state's " + std::to_string(total()) + " elements",
                    "its size is layout().total()");
    const auto values = other_.values();
    const auto missing = std::ranges::find_if(values, GuardedFloats::is_poison);
    if (missing != values.end())
      return broken(kInitialized,
                    element(static_cast<std::size_t>(missing - values.begin())) + " is not written",
                    "initialize() sets every parameter and buffer");
    if (trial_.given_state || same_bits(values, trial_.state)) return std::nullopt;
    return broken(kInitialized,
                  "two calls with seed " + std::to_string(trial_.seed) + " differ in " +
                      element(first_difference(values, trial_.state)),
                  "take random numbers from the seed alone (muster/random.hpp), not from rand() or "
                  "std::random_device");
  }

  // An element that keeps what was there before was left out, or added to.
  std::optional<Breach> written() {
    if (!log_.begin(kWritten)) return std::nullopt;
    model_.compute_first();
    if (!model_.first().margins_are_whole())
      return broken(kWritten, "gradient() writes beyond its " + std::to_string(total()) + " elements",
                    "the span has the layout's size; compare the indices with the layout");
    if (auto breach = state_stays(kWritten, "gradient()")) return breach;
    const auto values = first();
    const auto kept = std::ranges::count_if(values, GuardedFloats::is_poison);
    if (kept == 0) return std::nullopt;
    const auto index =
        static_cast<std::size_t>(std::ranges::find_if(values, GuardedFloats::is_poison) - values.begin());
    gradient(other_, 0.0F);
    const float on_zero = other_.span()[index];
    gradient(other_, 1024.0F);
    if (other_.span()[index] != 1024.0F || on_zero != 0.0F)
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
    if (!trial_.needs_finite || !model_.has_first()) return std::nullopt;
    log_.note(kFinite);  // it takes no time
    std::string what;
    const auto values = first();
    const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
    if (!std::isfinite(model_.metrics().loss)) {
      what = "the loss of the first samples is " + figure(model_.metrics().loss);
    } else if (bad != values.end()) {
      what =
          element(static_cast<std::size_t>(bad - values.begin())) + " of their gradient is " + figure(*bad);
    } else {
      return std::nullopt;
    }
    if (const auto place = find_not_finite(trial_.batch))
      return broken(kFinite, what,
                    "the samples themselves have it: field " + std::to_string(place->field) + " of sample " +
                        std::to_string(place->row) + " of the first micro-batch is " + figure(place->value) +
                        ": look at what the source reads");
    return broken(kFinite, what,
                  "usual causes are a label that the model has no class for, log(0), and a division by 0");
  }

  // The calls before this one are the other ones in between.
  std::optional<Breach> repeats() {
    if (!log_.begin(kRepeats)) return std::nullopt;
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        gradient(other_);
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) {
      log_.give_up(kRepeats, "the model computes on the thread alone that it was made on");
      return std::nullopt;
    }
    if (same_bits(first(), other_.values())) return std::nullopt;
    const std::string where = element(first_difference(first(), other_.values()));
    GuardedFloats once(total());
    gradient(other_);
    gradient(once);
    if (!same_bits(once.values(), other_.values()))
      return broken(
          kRepeats, "two calls with the same state, samples and key differ in " + where,
          "draw random numbers from StepKey alone (muster/random.hpp), not from rand() or the clock; "
          "set what is added up to 0 first");
    if (!same_bits(first(), other_.values()))
      return broken(
          kRepeats, "the gradient after calls with other samples differs in " + where,
          "a model keeps nothing from call to call: give it no members that gradient() or evaluate() change");
    return broken(kRepeats, "the gradient on another thread differs in " + where,
                  "a thread_local, or a generator or rounding mode of the thread, has a say");
  }

  std::optional<Breach> parts() {
    if (!log_.begin(kParts)) return std::nullopt;
    std::vector<bool> said(total());
    std::string mistake;
    other_.fill(GuardedFloats::poison());
    trial_.model.gradient_in_parts(
        trial_.state, model_.batch(), model_.first_key(), other_.span(),
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
    if (mistake.empty() && !same_bits(first(), other_.values()))
      mistake = "it differs from gradient() in " + element(first_difference(first(), other_.values()));
    if (mistake.empty()) return std::nullopt;
    return broken(kParts, mistake, "all elements are said once, when their last bit is written");
  }

  const ModelTrial& trial_;
  ContractLog& log_;
  TriedModel model_;
  const std::uint64_t state_hash_;
  GuardedFloats other_;
};

}  // namespace

std::optional<Breach> check_model(const ModelTrial& trial, ContractLog& log) {
  return ModelCheck(trial, log).run();
}

}  // namespace muster
