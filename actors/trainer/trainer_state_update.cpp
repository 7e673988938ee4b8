// How a step comes into the state of a trainer state.
#include <algorithm>
#include <array>

#include "actors/trainer/trainer_state.hpp"

namespace muster {

namespace {

// Elements that are clipped and updated at once on the host: they stay in the cache.
constexpr std::size_t kChunk = std::size_t{16} << 10;

// A vector of the host where the device computes with it. It stays as it is until that is done.
std::span<const float> on_device(TrainerState& trainer, std::span<const float> values) {
  if (!trainer.device->is_gpu()) return values;
  trainer.device->copy_in(values, trainer.gradient.gpu().span());
  return trainer.gradient.gpu().span();
}

std::span<const float> mean_on_device(TrainerState& trainer, const RoundRecord& record, MeanIs mean,
                                      bool wanted) {
  if (mean == MeanIs::in_gradient) return on_device(trainer, mean_of_step(trainer));
  const elements::Scale by{static_cast<float>(record.weight), true};
  // It is clipped in place, and others may miss it as it was.
  wanted = wanted || (mean == MeanIs::in_mean && trainer.clipping);
  const std::span<float> on_gpu = trainer.gradient.gpu().span();
  if (mean == MeanIs::in_sums) trainer.device->vectors().scale(trainer.accumulator->whole(), by, on_gpu);
  if (wanted) trainer.device->copy_out(on_gpu, std::span<float>(trainer.gradient.host()));
  return on_gpu;
}

// Buffers have no gradient: what is reduced of them is their mean change.
void add_to_buffers(TrainerState& trainer, std::span<const float> mean) {
  const std::size_t parameters = trainer.model->layout().parameters;
  const std::span<float> buffers = trainer.state.span().subspan(parameters);
  trainer.device->vectors().add(buffers, mean.subspan(parameters), {}, buffers);
}

// On a GPU the mean is always in the same place, so all that follows from it is recorded at the first step.
void update_on_gpu(TrainerState& trainer, std::uint64_t step) {
  if (!trainer.steady) {
    const std::size_t parameters = trainer.model->layout().parameters;
    const std::span<float> gradient = trainer.gradient.gpu().span().first(parameters);
    trainer.steady =
        trainer.optimizer->steady(trainer.state.span().first(parameters), gradient, [&trainer, gradient] {
          if (trainer.clipping) trainer.clipping->clip(gradient, gradient);
          add_to_buffers(trainer, trainer.gradient.gpu().span());
        });
  }
  trainer.steady->run(step);
}

// The mean may be handed to others: it is clipped elsewhere, chunk by chunk.
void update_on_host(TrainerState& trainer, std::uint64_t step, std::span<const float> mean) {
  const std::span<float> parameters = trainer.state.span().first(trainer.model->layout().parameters);
  const std::span<const float> gradient = mean.first(parameters.size());
  if (trainer.clipping && trainer.clipping->clips()) {
    static thread_local std::array<float, kChunk> clipped;
    for (std::size_t begin = 0; begin < parameters.size(); begin += kChunk) {
      const std::size_t count = std::min(kChunk, parameters.size() - begin);
      const std::span<float> part = std::span(clipped).first(count);
      trainer.clipping->clip(gradient.subspan(begin, count), part);
      trainer.optimizer->update(step, begin, parameters.subspan(begin, count), part);
    }
  } else {
    trainer.optimizer->update(step, parameters, gradient);
  }
  add_to_buffers(trainer, mean);
}

}  // namespace

void mean_to_host(TrainerState& trainer) {
  if (trainer.clipping) return;  // it has come there before it was clipped
  trainer.gradient.copy_to_host();
}

NotFinite apply_step(TrainerState& trainer, const RoundRecord& record, MeanIs mean, bool wanted) {
  trainer.progress->moved();
  const std::span<const float> result = mean_on_device(trainer, record, mean, wanted);
  if (trainer.clipping) trainer.clipping->measure(result.first(trainer.model->layout().parameters));
  // This waits for copies, too: the host's vector is written to in the next round, or read by others.
  const NotFinite found = trainer.finite.look(result, record.metrics);
  if (found)
    trainer.cause.look(*trainer.device, trainer.state.span().first(trainer.model->layout().parameters),
                       record.metrics);
  if (found && trainer.job.train.not_finite == OnNotFinite::stop) return found;
  keep_mean_of_step(trainer);
  if (trainer.part) trainer.part->commit(record.step, record.shards);
  if (!trainer.optimizer) {
    std::copy(result.begin(), result.end(), trainer.state.data());
  } else if (trainer.device->is_gpu()) {
    update_on_gpu(trainer, record.step);
    // Others write the next mean, and perhaps before this replica has anything to add to it.
    if (trainer.gradient.sums_on_gpus()) trainer.device->wait(trainer.device->mark());
  } else {
    update_on_host(trainer, record.step, result);
  }
  trainer.applied = record.step;
  trainer.cause.applied(record);
  return found;
}

}  // namespace muster
