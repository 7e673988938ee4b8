#include "config/schema/schema_bits.hpp"

#include "config/schema/binding.hpp"
#include "config/schema/schema_terms.hpp"

namespace muster {

using binding::bind;
using namespace terms;

std::vector<Key> step_check_keys() {
  return {bind(
              key(kFree, "train.not_finite", one_of({"stop", "report"}),
                  "What follows when a loss or an element of the mean gradient is NaN or Inf: the run fails "
                  "before the weights are changed, and writes a last checkpoint of them if checkpoint.folder "
                  "is set; or it goes on. In both cases the event `not_finite` names the parameter. "
                  "`--resume` of the same job comes to the same step again."),
              [](auto& job) -> auto& { return job.train.not_finite; }),
          bind(
              key(kFree, "train.audit", of(ValueType::rate),
                  "How often the gradient of one shard is computed by a second replica as well, and compared "
                  "before the step is applied. Each replica is audited at its first step in any case, unless "
                  "it is `off`. More often finds a replica that computes wrong bits sooner; each audit costs "
                  "one replica the time of one shard. No audits with `train.compression`, with "
                  "`cluster.straggler.action = \"speculate\"`, with `cluster.reproducible = \"loose\"`, "
                  "with `reduce.gpu_direct` where sums lie on GPUs, or where data comes from a generator."),
              [](auto& job) -> auto& { return job.train.audit; })};
}

std::vector<Key> corruption_keys() {
  return {bind(
      key("cluster.on_corruption", one_of({"report", "evict", "stop"}),
          "What follows when replicas that must hold the same bits do not. The event `corrupt` names each "
          "replica that is wrong. `report`: the run goes on, and completes with the weights of its first "
          "replica. `evict`: the replicas that differ from the majority are evicted, and the step is done "
          "again. If steps may hold their wrong results, all go back to the newest checkpoint before these. "
          "Where there is no majority, the run fails. `stop`: the run fails. With `evict` and `stop` "
          "checkpoints that may be wrong are set aside."),
      [](auto& job) -> auto& { return job.cluster.on_corruption; })};
}

}  // namespace muster
