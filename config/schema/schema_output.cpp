#include "config/schema/schema_output.hpp"

#include "config/schema/binding.hpp"
#include "config/schema/schema_terms.hpp"

namespace muster {

using binding::bind;
using namespace terms;

std::vector<Key> checkpoint_keys() {
  return {
      bind(
          key("checkpoint.folder", of(ValueType::text),
              "Where checkpoints are written, during the run and at its end; `muster run --resume` goes on "
              "from them.",
              "nowhere"),
          [](auto& job) -> auto& { return job.checkpoint.folder; }),
      bind(
          key("checkpoint.every", of(ValueType::interval),
              "How often one is written. A step waits only until its state is copied; more often means less "
              "to compute again after a loss of all."),
          [](auto& job) -> auto& { return job.checkpoint.every; }),
      bind(
          key("checkpoint.keep", between(ValueType::integer, 1, 1 << 20),
              "How many of the newest checkpoints stay in the folder. With more than one, a damaged "
              "checkpoint costs only the steps since the one before. A checkpoint removes none of later "
              "steps, and the last one of a run that ends early removes none. With `train.shard_optimizer` "
              "or `train.compression` older ones stay until the coordinator knows that they are replaced."),
          [](auto& job) -> auto& { return job.checkpoint.keep; }),
      bind(
          key("checkpoint.grace", at_least(ValueType::duration, 1),
              "How long a run that is asked to end (SIGTERM or Ctrl-C to `muster run`, to "
              "`muster coordinate`, or to all joined replicas) may take for its last checkpoint; also a run "
              "that fails and keeps its state. Choose a longer time where the disk is slow. The sender of "
              "the signal must wait for this time before it sends SIGKILL."),
          [](auto& job) -> auto& { return job.checkpoint.grace; }),
      bind(
          key("checkpoint.start_from", of(ValueType::path),
              "Weights to begin with, as a safetensors file of float32 tensors (a checkpoint's weights are "
              "one): every parameter and buffer of the model, by name and shape. For fine-tuning; the "
              "optimizer begins anew. Every replica reads the file, and must find the same content. "
              "`--resume` goes on from a checkpoint, not from these weights.",
              "the model's own"),
          [](auto& job) -> auto& { return job.checkpoint.start_from; }),
      bind(
          key("checkpoint.spare_folder", of(ValueType::text),
              "Where the last checkpoint goes if checkpoint.folder cannot be written until "
              "`cluster.give_up_after`, or half of checkpoint.grace where that bounds it. Best on another "
              "disk. Only the user can read the default folder.",
              "muster-UID in the folder for temporary files of the host that writes"),
          [](auto& job) -> auto& { return job.checkpoint.spare_folder; }),
  };
}

std::vector<Key> report_keys() {
  return {bind(
      key("report.progress_every", of(ValueType::progress),
          "How often loss, learning rate and throughput are reported: as the event `progress`, as a line "
          "where the output is no terminal, and as a row of the report, which keeps at most 1,000, evenly "
          "spread. In steps, or as a time."),
      [](auto& job) -> auto& { return job.report.progress_every; })};
}

}  // namespace muster
