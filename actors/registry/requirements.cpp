#include "actors/registry/requirements.hpp"

#include "muster/error.hpp"

namespace muster {
namespace {

// What is still computed on the host alone.
void check_gpu(const Job& job, const std::string& device) {
  const auto refuse = [&](const std::string& key, const std::string& what) {
    throw JobError(key, what + " is computed on the host only, and not for " + device +
                            ": leave it out, or take \"cpu:K\" devices");
  };
  if (job.train.shard_optimizer) refuse("train.shard_optimizer", "a sharded optimizer");
  if (job.train.compression.kind != CompressionKind::none) refuse("train.compression", "compression");
  if (job.train.wire != GradientWire::float32) refuse("train.wire", "rounding for the wire");
}

}  // namespace

void check_requirements(const Job& job, const Model& model, const std::string& device) {
  const std::string name = "model " + job.model.shown();
  if (job.train.remainder == Remainder::pad && model.mixes_samples())
    throw JobError(
        "train.remainder",
        "\"pad\" is not for " + name + ": padded rows would change the others' result (batch normalization)");
  if (job.train.precision == Precision::bfloat16 && !model.takes_bfloat16())
    throw JobError("train.precision", "\"bfloat16\" is not for " + name + ": it computes in float32 only");
  if (!device.starts_with("cuda")) return;
  if (!model.computes_on_gpus())
    throw JobError("cluster.devices", device + " is not for " + name + ": it computes on the CPU only");
  check_gpu(job, device);
}

}  // namespace muster
