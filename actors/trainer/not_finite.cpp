#include "actors/trainer/not_finite.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "actors/events/event.hpp"
#include "actors/pipeline/batch_check.hpp"
#include "actors/pipeline/permutation.hpp"
#include "base/check.hpp"
#include "muster/job.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

namespace {

// In ShardMetrics::bad_sample: the row above the field above the kind of number. In a micro-batch of more
// rows than there is room for, the last of these stands for it.
constexpr int kKindBits = 2, kFieldBits = 6, kRowBits = 24;
static_assert(kTensorsMax <= 1 << kFieldBits);
enum class BadKind : std::uint32_t { none = 0, nan = 1, inf = 2, minus_inf = 3 };

BadKind bad_kind_of(double value) {
  if (std::isfinite(value)) return BadKind::none;
  return std::isnan(value) ? BadKind::nan : value > 0 ? BadKind::inf : BadKind::minus_inf;
}

double number_of(BadKind kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (kind == BadKind::nan) return std::numeric_limits<double>::quiet_NaN();
  return kind == BadKind::inf ? kInfinity : -kInfinity;
}

BadSample unpacked_sample(std::uint32_t shard, std::uint32_t packed) {
  return {shard, packed >> (kKindBits + kFieldBits), (packed >> kKindBits) & ((1U << kFieldBits) - 1),
          number_of(static_cast<BadKind>(packed & ((1U << kKindBits) - 1)))};
}

const ShardReport* report_of_shard(const RoundRecord& record, std::uint32_t shard) {
  const auto found =
      std::ranges::find_if(record.shards, [&](const ShardReport& of) { return of.shard == shard; });
  return found == record.shards.end() ? nullptr : &*found;
}

}  // namespace

FiniteCheck::FiniteCheck(std::shared_ptr<ComputeDevice> device)
    : device_(std::move(device)), first_(device_, 1), first_on_host_(device_, 1) {}

NotFinite FiniteCheck::look(std::span<const float> values, const std::vector<ShardMetrics>& metrics) const {
  device_->vectors().find_not_finite(values, first_.data());
  device_->copy_out(first_.span(), first_on_host_.span());
  device_->wait(device_->mark());
  NotFinite found;
  const auto loss =
      std::ranges::find_if(metrics, [](const ShardMetrics& of) { return !std::isfinite(of.loss); });
  if (loss != metrics.end()) {
    found.shard = loss->shard;
    found.value = loss->loss;
  }
  const std::uint64_t first = first_on_host_.span()[0];
  if (first == VectorOperations::kNone) return found;
  float value = 0;
  device_->copy_out(values.subspan(first, 1), std::span(&value, 1));
  device_->synchronize();
  found.element = first;
  found.value = value;
  return found;
}

namespace {

double root_mean_square(ComputeDevice& device, std::span<const float> values) {
  if (values.empty()) return 0;
  std::vector<float> part(std::min(values.size(), std::size_t{1} << 20));
  double sum = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += part.size()) {
    const std::size_t count = std::min(part.size(), values.size() - begin);
    device.copy_out(values.subspan(begin, count), std::span(part).first(count));
    device.synchronize();
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(part[i]) * part[i];
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

void CauseFinder::begin(ComputeDevice& device, std::span<const float> weights) {
  weights_at_first_ = root_mean_square(device, weights);
}

void CauseFinder::applied(const RoundRecord& record) {
  double sum = 0;
  for (const ShardMetrics& of : record.metrics) sum += of.loss;
  const double loss = sum / record.weight;
  if (!std::isfinite(loss) || loss <= 0) return;
  last_loss_ = loss;
  least_loss_ = first_loss_ ? std::min(least_loss_, loss) : loss;
  if (!first_loss_) first_loss_ = loss;
}

void CauseFinder::look(ComputeDevice& device, std::span<const float> weights,
                       const std::vector<ShardMetrics>& metrics) {
  constexpr double kSmall = 0.1;  // weights may begin with 0
  cause_ = {};
  for (const ShardMetrics& of : metrics) {
    if (std::isfinite(of.loss)) continue;
    if (of.bad_sample != 0 && !cause_.sample) cause_.sample = unpacked_sample(of.shard, of.bad_sample);
    cause_.samples_are_finite = !cause_.sample;
  }
  cause_.weights_grew = root_mean_square(device, weights) / std::max(weights_at_first_, kSmall);
  // A loss that is large beside the least one may be noise, unless it comes near the first one.
  if (first_loss_ && last_loss_ > *first_loss_ / 2) cause_.loss_grew = last_loss_ / least_loss_;
}

std::uint32_t bad_sample_of(const Batch& batch, double loss) {
  if (std::isfinite(loss)) return 0;
  const auto place = find_not_finite(batch);
  if (!place) return 0;
  const std::uint32_t row = std::min(place->row, (1U << kRowBits) - 1);
  return (row << kFieldBits | place->field) << kKindBits |
         static_cast<std::uint32_t>(bad_kind_of(place->value));
}

void look_at_samples(const std::vector<Item>& items, const RoundRecord& record, NotFiniteCause& cause) {
  if (cause.sample || cause.samples_are_finite) return;
  std::size_t looked_at = 0;
  for (const Item& item : items) {
    const ShardReport* const report = report_of_shard(record, item.shard);
    if (item.ended || !report || !report->present() || item.cursor.epoch != record.epoch ||
        item.range.first != report->first || item.range.count != report->count)
      continue;
    ++looked_at;
    if (const auto place = find_not_finite(*item.batch)) {
      cause.sample = {item.shard, place->row, place->field, place->value};
      return;
    }
  }
  const auto present = std::ranges::count_if(record.shards, &ShardReport::present);
  cause.samples_are_finite = looked_at == static_cast<std::size_t>(present);
}

namespace {

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Inf" : "-Inf";
}

// Where a bad sample lies in the source. A ready-made batch, or a shard's generator, counts by itself.
struct SourcePlace {
  std::uint64_t index = 0;
  std::string call;  // as Source's functions are called
};

std::optional<SourcePlace> place_in_source(const BadSample& bad, const RoundRecord& record, const Job& job,
                                           const DataFacts& facts) {
  const ShardReport* const report = report_of_shard(record, bad.shard);
  if (!report) return std::nullopt;
  if (facts.samples < 0) {
    const std::uint64_t number = report->first + bad.row;
    return SourcePlace{number, "sample " + std::to_string(number) + " (from 0) of the generator of shard " +
                                   std::to_string(bad.shard)};
  }
  const auto samples = static_cast<std::uint64_t>(facts.samples);
  const Dealing dealing{samples, job.train.shards, 1, job.train.remainder};
  std::uint64_t position = dealing.position(bad.shard, report->first + (facts.unit_is_batch ? 0 : bad.row));
  if (position >= samples) return std::nullopt;
  if (!facts.unit_is_batch && job.data.shuffle.value_or(true))
    position = Permutation(samples, job.seed, record.epoch).at(position);
  const std::uint64_t index = job.data.skip + position;
  if (facts.unit_is_batch)
    return SourcePlace{index, "row " + std::to_string(bad.row) + " of batch(" + std::to_string(index) + ")"};
  return SourcePlace{index, "read(" + std::to_string(index) + ")"};
}

std::string bad_sample_text(const BadSample& bad, const RoundRecord& record, const Job& job,
                            const DataFacts& facts) {
  const auto place = place_in_source(bad, record, job, facts);
  return "the data have it: " +
         (place ? place->call
                : "row " + std::to_string(bad.row) + " of the micro-batch of shard " +
                      std::to_string(bad.shard)) +
         " of source '" + job.data.source + "' gives " + text_of(bad.value) + " in field " +
         std::to_string(bad.field) +
         "; correct that sample, or leave it out: a lower learning rate does not help";
}

// From here on it is more than what a step does.
constexpr double kGrown = 10;

bool grown(double factor) {
  return !(factor < kGrown);  // it may be NaN
}

std::string growth_text(const NotFiniteCause& cause) {
  const bool weights = grown(cause.weights_grew);
  const double factor = weights ? cause.weights_grew : cause.loss_grew;
  const std::string what = weights ? "the weights (their root mean square)" : "the loss";
  if (!std::isfinite(factor)) return what + " had grown beyond what float32 holds";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", factor);
  return what + " had grown " + text + "-fold before it";
}

// Where something can be done about it; the likeliest first.
std::string hint(const NotFinite& found, const NotFiniteCause& cause, const RoundRecord& record,
                 const Job& job, const DataFacts& facts) {
  if (cause.sample) return bad_sample_text(*cause.sample, record, job, facts);
  if (job.train.wire == GradientWire::float16)
    return "float16 ends at 65504: train.wire = \"bfloat16\", or a lower train.wire_exponent, may help";
  const bool loss_alone = !found.element && std::isnan(found.value);  // it says little
  const std::string samples = cause.samples_are_finite ? "the samples are finite; " : "";
  if (!loss_alone && (grown(cause.weights_grew) || grown(cause.loss_grew)))
    return samples + growth_text(cause) +
           ": a new run with a lower train.optimizer.learning_rate, or its warm_up, may help";
  if (!loss_alone && cause.samples_are_finite)
    return samples +
           "neither the weights nor the loss had grown: the model itself makes it. Usual causes are "
           "log(0), a division by 0, samples that are far too large, and a label that the model has no "
           "class for";
  if (record.step == 1)
    return "nothing has been learned yet: look for samples that are not finite or far too large, and at the "
           "model's first weights";
  return "a new run with a lower train.optimizer.learning_rate, or its warm_up, may help; so may a look at "
         "the "
         "samples";
}

}  // namespace

Event not_finite_event(const NotFinite& found, const NotFiniteCause& cause, const RoundRecord& record,
                       const Job& job, const Layout& layout, const DataFacts& facts) {
  const char* const looked_at = job.train.shard_optimizer ? "new state" : "mean gradient";
  std::vector<std::pair<std::string, EventValue>> fields{
      {"epoch", static_cast<std::int64_t>(record.epoch)},   {"step", static_cast<std::int64_t>(record.step)},
      {"what", found.element ? looked_at : "loss"},         {"value", text_of(found.value)},
      {"stops", job.train.not_finite == OnNotFinite::stop}, {"hint", hint(found, cause, record, job, facts)}};
  if (found.element) {
    const auto behind = std::ranges::find_if(layout.entries, [&](const LayoutEntry& entry) {
      return *found.element < entry.offset + entry.count;
    });
    MUSTER_CHECK(behind != layout.entries.end(), *found.element, layout.total());
    fields.emplace_back("parameter", behind->name);
    fields.emplace_back("element", static_cast<std::int64_t>(*found.element - behind->offset));
  }
  if (found.shard) fields.emplace_back("shard", static_cast<std::int64_t>(*found.shard));
  if (cause.sample) {
    fields.emplace_back("field", static_cast<std::int64_t>(cause.sample->field));
    if (const auto place = place_in_source(*cause.sample, record, job, facts))
      fields.emplace_back("sample", static_cast<std::int64_t>(place->index));
  }
  return make_event("not_finite", std::move(fields));
}

std::string not_finite_reason(const Event& event) {
  const std::string shard = "the loss of shard " + std::to_string(event.integer("shard"));
  std::string text = shard;
  if (event.has("parameter"))
    text = "element " + std::to_string(event.integer("element")) + " of " + event.text("parameter") +
           " in the " + event.text("what");
  text += " of step " + std::to_string(event.integer("step")) + " is " + event.text("value");
  if (event.has("parameter") && event.has("shard")) text += ", and " + shard + " is not finite either";
  return text + "; the weights are still those of the step before: " + event.text("hint");
}

}  // namespace muster
