#include "actors/trainer/probe.hpp"

#include "actors/trainer/trainer_state.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

std::string probe(TrainerState& trainer) {
  if (!trainer.model || !trainer.data.is_open() || !trainer.data.reader().dealing()) return {};
  const Cursor first;
  const Item item = trainer.data.reader().read(0, first);
  if (item.ended || item.batch->rows == 0) return {};
  // A checkpoint that is gone on from has other weights; alike are judged with those of the beginning.
  const DeviceFloats initial(trainer.device, trainer.state.size()),
      gradient(trainer.device, trainer.state.size());
  trainer.model->initialize(trainer.job.seed, initial.span());
  trainer.model->gradient(initial.span(), *item.batch, {trainer.job.seed, first.epoch, 1, 0},
                          gradient.span());
  return state_sha256(host_copy(*trainer.device, gradient.span()));
}

std::string computes_with(const TrainerState& trainer) {
  const std::string libraries = trainer.model->libraries();
  return trainer.device->hardware() + (libraries.empty() ? "" : ", " + libraries);
}

std::string shapes_of(const Layout& layout) {
  std::string text;
  for (const LayoutEntry& entry : layout.entries) {
    text += entry.name;
    for (const auto size : entry.shape) text += ' ' + std::to_string(size);
    text += entry.offset < layout.parameters ? "\n" : " buffer\n";
  }
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace muster
