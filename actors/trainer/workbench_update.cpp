// How a step comes into the state of a workbench.
#include <algorithm>
#include <array>

#include "actors/trainer/workbench.hpp"

namespace muster {

namespace {

// Elements that are clipped and updated at once on the host: they stay in the cache.
constexpr std::size_t kChunk = std::size_t{16} << 10;

// A vector of the host where the device computes with it. It stays as it is until that is done.
std::span<const float> on_device(Workbench& bench, std::span<const float> values) {
  if (!bench.device->is_card()) return values;
  bench.device->copy_in(values, bench.mean.span());
  return bench.mean.span();
}

std::span<const float> mean_on_device(Workbench& bench, const RoundRecord& record, MeanIs mean, bool wanted) {
  if (mean == MeanIs::in_gradient) return on_device(bench, mean_of_step(bench));
  const elements::Scale by{static_cast<float>(record.weight), true};
  // It is clipped in place, and others may miss it as it was.
  wanted = wanted || (mean == MeanIs::in_mean && bench.clipping);
  if (mean == MeanIs::in_sums) bench.device->scale(bench.accumulator->whole(), by, bench.mean.span());
  if (wanted) bench.device->copy_out(bench.mean.span(), std::span<float>(bench.gradient));
  return bench.mean.span();
}

// Buffers have no gradient: what is reduced of them is their mean change.
void add_to_buffers(Workbench& bench, std::span<const float> mean) {
  const std::size_t parameters = bench.model->layout().parameters;
  const std::span<float> buffers = bench.state.span().subspan(parameters);
  bench.device->add(buffers, mean.subspan(parameters), {}, buffers);
}

// On a card the mean is always in the same place, so all that follows from it is recorded at the first step.
void update_on_card(Workbench& bench, std::uint64_t step) {
  if (!bench.steady) {
    const std::size_t parameters = bench.model->layout().parameters;
    const std::span<float> gradient = bench.mean.span().first(parameters);
    bench.steady =
        bench.optimizer->steady(bench.state.span().first(parameters), gradient, [&bench, gradient] {
          if (bench.clipping) bench.clipping->clip(gradient, gradient);
          add_to_buffers(bench, bench.mean.span());
        });
  }
  bench.steady->run(step);
}

// The mean may be handed to others: it is clipped elsewhere, chunk by chunk.
void update_on_host(Workbench& bench, std::uint64_t step, std::span<const float> mean) {
  const std::span<float> parameters = bench.state.span().first(bench.model->layout().parameters);
  const std::span<const float> gradient = mean.first(parameters.size());
  if (bench.clipping && bench.clipping->clips()) {
    static thread_local std::array<float, kChunk> clipped;
    for (std::size_t begin = 0; begin < parameters.size(); begin += kChunk) {
      const std::size_t count = std::min(kChunk, parameters.size() - begin);
      const std::span<float> part = std::span(clipped).first(count);
      bench.clipping->clip(gradient.subspan(begin, count), part);
      bench.optimizer->update(step, begin, parameters.subspan(begin, count), part);
    }
  } else {
    bench.optimizer->update(step, parameters, gradient);
  }
  add_to_buffers(bench, mean);
}

}  // namespace

void mean_to_host(Workbench& bench) {
  if (bench.clipping) return;  // it has come there before it was clipped
  bench.device->copy_out(bench.mean.span(), std::span<float>(bench.gradient));
  bench.device->wait(bench.device->mark());
}

NotFinite apply_step(Workbench& bench, const RoundRecord& record, MeanIs mean, bool wanted) {
  bench.progress->moved();
  const std::span<const float> result = mean_on_device(bench, record, mean, wanted);
  if (bench.clipping) bench.clipping->measure(result.first(bench.model->layout().parameters));
  // This waits for copies, too: the host's vector is written to in the next round, or read by others.
  const NotFinite found = bench.finite.look(result, record.metrics);
  if (found && bench.job.train.not_finite == OnNotFinite::stop) return found;
  keep_mean_of_step(bench);
  if (bench.part) bench.part->commit(record.step, record.shards);
  if (!bench.optimizer) {
    std::copy(result.begin(), result.end(), bench.state.data());
  } else if (bench.device->is_card()) {
    update_on_card(bench, record.step);
    // Others write the next mean, and perhaps before this replica has anything to add to it.
    if (bench.sums_on_cards) bench.device->wait(bench.device->mark());
  } else {
    update_on_host(bench, record.step, result);
  }
  bench.applied = record.step;
  return found;
}

}  // namespace muster
