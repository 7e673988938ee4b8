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
              "Where checkpoints are written, on the way and at the end; `muster run --resume` goes on from "
              "them.",
              "nowhere"),
          [](auto& job) -> auto& { return job.checkpoint.folder; }),
      bind(
          key("checkpoint.every", of(ValueType::interval),
              "How often one is written. A step waits only until its state is copied; more often means less "
              "to compute again after a loss of all."),
          [](auto& job) -> auto& { return job.checkpoint.every; }),
      bind(
          key("checkpoint.keep", between(ValueType::integer, 1, 1 << 20),
              "The last so many stay in the folder; with more than one, a damaged one costs only the way "
              "from the one before. Those of later steps stay, too, and what a run "
              "that ends early writes removes none. With `train.shard_optimizer` or "
              "`train.compression` also all that the "
              "coordinator does not know to be replaced yet."),
          [](auto& job) -> auto& { return job.checkpoint.keep; }),
      bind(
          key("checkpoint.grace", at_least(ValueType::duration, 1),
              "How long a run that is told to end (SIGTERM or Ctrl-C to `muster run` or `muster "
              "coordinate`, SIGTERM to all joined replicas) may take "
              "for its last checkpoint; also one that fails and keeps its state. Longer saves steps where "
              "the disk is slow; whoever sends the signal "
              "must wait as long before SIGKILL."),
          [](auto& job) -> auto& { return job.checkpoint.grace; }),
      bind(
          key("checkpoint.start_from", of(ValueType::path),
              "Weights to begin with, as a safetensors file of float32 tensors (a checkpoint's weights are "
              "one): every parameter and buffer of the model, by name and shape. For fine-tuning; the "
              "optimiser "
              "begins anew. Every replica reads the file, and must find the same content. `--resume` goes on "
              "from a checkpoint all the same.",
              "the model's own"),
          [](auto& job) -> auto& { return job.checkpoint.start_from; }),
      bind(
          key("checkpoint.spare_folder", of(ValueType::text),
              "Where the last checkpoint goes if checkpoint.folder takes none until "
              "`cluster.give_up_after`, or half of checkpoint.grace where that bounds it. Best on another "
              "disk. The default one is open to nobody but the user.",
              "muster-UID in the folder for temporary files of the host that writes"),
          [](auto& job) -> auto& { return job.checkpoint.spare_folder; }),
  };
}

std::vector<Key> report_keys() {
  return {bind(
      key("report.progress_every", of(ValueType::progress),
          "How often loss, learning rate and throughput are told: as the event `progress`, as a line "
          "where the output is no terminal, and as a row of the report, which keeps at most 1,000, "
          "evenly spread. In steps, or as a time."),
      [](auto& job) -> auto& { return job.report.progress_every; })};
}

}  // namespace muster
