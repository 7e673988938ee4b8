#include "actors/trainer/probe.hpp"

#include "actors/trainer/workbench.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

std::string probe(Workbench& bench) {
  if (!bench.model || !bench.reader || !bench.reader->dealing()) return {};
  const Cursor first;
  const Item item = bench.reader->read(0, first);
  if (item.ended || item.batch->rows == 0) return {};
  // A checkpoint that is gone on from has other weights; alike are judged with those of the beginning.
  const DeviceFloats initial(bench.device, bench.state.size()), gradient(bench.device, bench.state.size());
  bench.model->initialize(bench.job.seed, initial.span());
  bench.model->gradient(initial.span(), *item.batch, {bench.job.seed, first.epoch, 1, 0}, gradient.span());
  return state_sha256(host_copy(*bench.device, gradient.span()));
}

std::string computes_with(const Workbench& bench) {
  const std::string libraries = bench.model->libraries();
  return bench.device->hardware() + (libraries.empty() ? "" : ", " + libraries);
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
