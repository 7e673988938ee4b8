#include "actors/trainer/not_finite.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "actors/events/event.hpp"
#include "base/check.hpp"
#include "muster/job.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

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

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Inf" : "-Inf";
}

// Where something can be done about it; the likeliest first.
std::string hint(const RoundRecord& record, const Job& job) {
  if (job.train.wire == GradientWire::float16)
    return "float16 ends at 65504: train.wire = \"bfloat16\", or a lower train.wire_exponent, may help";
  if (record.step == 1)
    return "nothing has been learned yet: look for samples that are not finite or far too large, and at the "
           "model's first weights";
  return "a new run with a lower train.optimizer.learning_rate, or its warm_up, may help; so may a look at "
         "the "
         "samples";
}

}  // namespace

Event not_finite_event(const NotFinite& found, const RoundRecord& record, const Job& job,
                       const Layout& layout) {
  const char* const looked_at = job.train.shard_optimizer ? "new state" : "mean gradient";
  std::vector<std::pair<std::string, EventValue>> fields{
      {"epoch", static_cast<std::int64_t>(record.epoch)},   {"step", static_cast<std::int64_t>(record.step)},
      {"what", found.element ? looked_at : "loss"},         {"value", text_of(found.value)},
      {"stops", job.train.not_finite == OnNotFinite::stop}, {"hint", hint(record, job)}};
  if (found.element) {
    const auto behind = std::ranges::find_if(layout.entries, [&](const LayoutEntry& entry) {
      return *found.element < entry.offset + entry.count;
    });
    MUSTER_CHECK(behind != layout.entries.end(), *found.element, layout.total());
    fields.emplace_back("parameter", behind->name);
    fields.emplace_back("element", static_cast<std::int64_t>(*found.element - behind->offset));
  }
  if (found.shard) fields.emplace_back("shard", static_cast<std::int64_t>(*found.shard));
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
