#include "actors/contract/row_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "actors/contract/batch_rows.hpp"

namespace muster {

namespace {

const std::string kRows = "a model reads its samples, and nothing beside them";

struct GradientAndLoss {
  Metrics metrics;
  std::vector<float> gradient;

  bool operator==(const GradientAndLoss& other) const {  // to the bit: it may be NaN
    return std::memcmp(&metrics.loss, &other.metrics.loss, sizeof metrics.loss) == 0 &&
           same_bits(gradient, other.gradient);
  }
};

GradientAndLoss gradient_and_loss(TriedModel& model, const Batch& batch) {
  GuardedFloats into(model.layout().total());
  const Metrics metrics = model.gradient(batch, into, model.first_key());
  return {metrics, {into.values().begin(), into.values().end()}};
}

std::string likely_of_rows(const TriedModel& model) {
  const std::string& inputs = model.trial().inputs;
  return "a sample has " + row_text(model.batch()) +
         (inputs.empty() ? ": compare them with the model's options, which say how many it takes"
                         : ": does the model take so many? The job says " + inputs) +
         ". Let check_batch() refuse what does not fit";
}

// So many of the first numbers of a row's field have a say in what is computed of it; those behind have none.
std::size_t used_of(TriedModel& model, const Batch& row, std::size_t field) {
  const GradientAndLoss whole = gradient_and_loss(model, row);
  const std::size_t count = row.tensors[field].as<float>().size();
  const auto counts_from = [&](std::size_t first) {
    Batch other = row;
    for (float& value : other.tensors[field].as<float>().subspan(first)) value = 1 - 2 * value;
    return !(gradient_and_loss(model, other) == whole);
  };
  std::size_t none = count, some = 0;  // numbers from here on have no say; a say
  if (!counts_from(0)) return 0;
  while (none - some > 1) {
    const std::size_t middle = some + (none - some) / 2;
    (counts_from(middle) ? some : none) = middle;
  }
  return none;
}

}  // namespace

std::optional<Breach> check_rows(TriedModel& model, ContractLog& log) {
  if (!model.has_first()) return std::nullopt;
  log.note(kRows);
  const auto first = model.first().values();
  const auto bad = std::ranges::find_if(first, [](float value) { return !std::isfinite(value); });
  if (std::isfinite(model.metrics().loss) && bad == first.end()) return std::nullopt;
  const Batch numbers = with_margin(model.trial().batch, 1.0F);
  const GradientAndLoss nan_behind = gradient_and_loss(model, model.batch()),
                        one_behind = gradient_and_loss(model, numbers);
  if (nan_behind == one_behind) return std::nullopt;
  if (!(nan_behind == gradient_and_loss(model, model.batch()))) return std::nullopt;  // it differs by itself
  return model.broken(kRows,
                      "gradient() reads beyond the end of its " + std::to_string(model.batch().rows) +
                          " samples: what it computes depends on the memory behind them",
                      likely_of_rows(model));
}

std::string misread_rows(TriedModel& model) try {
  const Batch row = rows_of(model.batch(), 0, 1);
  for (std::size_t k = 0; k < row.tensors.size(); ++k) {
    if (row.tensors[k].dtype != DType::float32) continue;
    const std::size_t count = row.tensors[k].as<float>().size(), used = used_of(model, row, k);
    if (used == 0 || used == count) continue;
    return "of the " + std::to_string(count) + " numbers in field " + std::to_string(k) +
           " of a sample it uses the first " + std::to_string(used) + " alone; " + likely_of_rows(model);
  }
  return {};
} catch (const std::exception&) {  // it does not take other numbers
  return {};
}

}  // namespace muster
