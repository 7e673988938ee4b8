#include "config/schema/schema.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "config/schema/binding.hpp"
#include "config/schema/schema_bits.hpp"
#include "config/schema/schema_output.hpp"
#include "config/schema/schema_reduce.hpp"
#include "config/schema/schema_terms.hpp"

namespace muster {
namespace {

// The accessor of a member, for const and other jobs alike.
#define MUSTER_MEMBER(member) \
  [](auto& job) -> auto& {    \
    return job.member;        \
  }

constexpr double kThreadsMax = 1024;
constexpr double kSeedMax = 9223372036854775808.0;  // 2^63: shown as 2^63 - 1, which is as far as TOML goes
constexpr const char* kOptimizer = "train.optimizer.name";
constexpr const char* kWire = "train.wire";
constexpr const char* kCompression = "train.compression.name";
constexpr const char* kSchedule = "train.optimizer.learning_rate.schedule";

using binding::bind;
using namespace terms;

std::vector<Key> top_keys() {
  return {
      bind(key(kFree, "name", name_spec(), "Names the run in reports and events."), MUSTER_MEMBER(name)),
      bind(key(kFixes, "seed", between(ValueType::integer, 0, kSeedMax),
               "Decides initial weights, shuffling and augmentation; the same job with the same seed gives "
               "the same weights, bit for bit."),
           MUSTER_MEMBER(seed)),
  };
}

// An empty name stands for none: then the model is a file's or a library's.
Key model_name() {
  Key name =
      bind(required(key(kFixes, "model.name", name_spec(),
                        "The model to train, by the name under which it is registered; its own options are "
                        "keys of the same table. Exactly one of `name`, `file` and `library` is given.",
                        "none")),
           MUSTER_MEMBER(model.name));
  name.get = [](const Job& job) {
    return job.model.name.empty() ? std::nullopt : std::optional<Value>(job.model.name);
  };
  return name;
}

std::vector<Key> model_keys() {
  return {
      model_name(),
      // Where the file lies is free: what is in it is part of the hash.
      bind(
          key(kFree, "model.file", name_spec(),
              "A model as a TorchScript module, which `torch.jit.save` writes: it begins with the weights in "
              "the file. Every replica reads the file, and must find the same content.",
              "none"),
          MUSTER_MEMBER(model.file)),
      bind(key(kFree, "model.library", name_spec(),
               "A shared library with a model in C++ (muster/model_library.hpp); its own options are keys of "
               "the same table. Every replica loads the library, and must find the same content.",
               "none"),
           MUSTER_MEMBER(model.library)),
      bind(key(kFixes, "model.entry", name_spec(),
               "Which of the library's models; only with `library`, and needed where it registers several.",
               "the only one"),
           MUSTER_MEMBER(model.entry)),
  };
}

std::vector<Key> data_keys() {
  return {
      bind(required(key(kFixes, "data.source", name_spec(),
                        "Where samples come from; the source's own options are keys of the same table.",
                        "none, must be given")),
           MUSTER_MEMBER(data.source)),
      bind(key(kFixes, "data.shuffle", of(ValueType::boolean),
               "Reads the samples in another random order each epoch, by `seed`; costs no memory, but reads "
               "are no longer "
               "sequential. Only for sources with random access.",
               "`true` for sources with random access, else `false`"),
           MUSTER_MEMBER(data.shuffle)),
      bind(key(kFixes, "data.skip", at_least(ValueType::integer, 0),
               "Samples left out at the front, in source order, before the shuffle."),
           MUSTER_MEMBER(data.skip)),
      bind(key(kFixes, "data.take", at_least(ValueType::integer, 1),
               "Samples kept after `skip`. If there are fewer, the run raises the event `exhausted`; that is "
               "no error.",
               "all"),
           MUSTER_MEMBER(data.take)),
      bind(key(kFree, "data.repeat", at_least(ValueType::passes, 1),
               "Passes over the data that may serve `train.steps`; if they end first, the run is complete "
               "and the event `exhausted` says so.",
               "`1`"),
           MUSTER_MEMBER(data.repeat)),
      bind(key(kFree, "data.prefetch", between(ValueType::integer, 1, 65536),
               "Micro-batches that a shard may hold ready; more hides slower storage, and takes memory."),
           MUSTER_MEMBER(data.prefetch)),
      bind(key(kFree, "data.memory", at_least(ValueType::size, 1),
               "Bound on the memory for loading of a node, source and micro-batches together. A node that "
               "takes over shards of lost nodes, and has no room for all, holds one micro-batch of each."),
           MUSTER_MEMBER(data.memory_bytes)),
      bind(key(kFree, "data.threads", between(ValueType::integer, 0, 1),
               "Loader threads of each node. With 0 a node has one where cores are free, and else loads "
               "between steps; with 1 it has one even where cores must then be shared.",
               "`0`: one where a core is free"),
           MUSTER_MEMBER(data.threads)),
  };
}

std::vector<Key> train_keys() {
  return {
      bind(key(kFixes, "train.shards", between(ValueType::integer, 1, 65536),
               "Slices of the mathematics, fixed for the job's life. Any number of replicas up to this "
               "number gives the same weights. More shards allow more replicas, but make each micro-batch a "
               "smaller part of the step."),
           MUSTER_MEMBER(train.shards)),
      bind(key(kFixes, "train.batch", between(ValueType::integer, 1, 1 << 24),
               "Samples per shard per step; the batch of the step is `shards` times as large. Larger ones "
               "compute faster per sample, and take more memory."),
           MUSTER_MEMBER(train.batch)),
      bind(key(kFree, "train.epochs", at_least(ValueType::integer, 1), "Passes over the data.",
               "`1` where `steps` is not given"),
           MUSTER_MEMBER(train.epochs)),
      bind(key(kFree, "train.steps", at_least(ValueType::integer, 1),
               "Ends after so many updates, also in the middle of a pass.", "not given"),
           MUSTER_MEMBER(train.steps)),
      bind(key(kFixes, "train.remainder", one_of({"keep", "drop", "pad"}),
               "What happens to a last batch that is not full. `keep`: it is trained as it is, and divided "
               "by its own samples. `drop`: it is left out and counted in the ledger. `pad`: it is filled "
               "with rows of weight 0, which keeps shapes equal and costs computation."),
           MUSTER_MEMBER(train.remainder)),
      bind(key(kFixes, "train.threads", between(ValueType::integer, 1, kThreadsMax),
               "Compute threads of each replica. Part of the mathematics: another number may give other "
               "bits."),
           MUSTER_MEMBER(train.threads)),
      bind(key(kFixes, "train.precision", one_of({"float32", "bfloat16"}),
               "What models compute in. With `bfloat16` matrix products and convolutions are computed in 16 "
               "bits, as libtorch's autocast chooses, which is much faster on GPUs; weights, gradients, the "
               "loss and the optimizer stay float32. Only for models of libtorch, and for others that "
               "declare it."),
           MUSTER_MEMBER(train.precision)),
      bind(
          key(kFixes, "train.evaluate", of(ValueType::boolean),
              "Evaluates on the source's test set after every epoch, if it has one; costs one pass over it."),
          MUSTER_MEMBER(train.evaluate)),
      bind(key(kFixes, kWire, one_of({"float32", "float16", "bfloat16"}),
               "In which type gradients are sent between hosts. With 16 bits half as many bytes are sent. "
               "Sums are formed in float32, and each sum is rounded to 16 bits wherever it is computed, so "
               "the weights do not depend on the number of replicas."),
           MUSTER_MEMBER(train.wire)),
      bind(only_with(kWire, {"float16"},
                     key(kFixes, "train.wire_exponent", between(ValueType::integer, -60, 60),
                         "Gradients are multiplied by 2 to this power before they are rounded, and divided "
                         "by it afterwards, because float16 holds 6e-8 to 65504. Sums of a step must stay "
                         "below the upper end.")),
           MUSTER_MEMBER(train.wire_exponent)),
      bind(key(kFree, "train.shard_optimizer", of(ValueType::boolean),
               "Each replica holds only its part of the optimizer's vectors, and a second copy of another "
               "replica's part. It updates its part and sends the new parameters to all (ZeRO stage 1). On R "
               "replicas this takes 2/R of the memory for these vectors and one more hop a step. The parts "
               "move when replicas join or leave. The weights are the same bits."),
           MUSTER_MEMBER(train.shard_optimizer)),
      bind(key(kFixes, "train.clip_norm", above(0),
               "Bounds the L2 norm of a step's mean gradient over all parameters: a longer one is multiplied "
               "by `clip_norm / (norm + 1e-6)` before the update, as in `torch.nn.utils.clip_grad_norm_`. "
               "With compression it applies to the compressed gradient.",
               "none: no bound"),
           MUSTER_MEMBER(train.clip_norm)),
  };
}

std::vector<Key> compression_keys() {
  return {
      bind(
          key(kFixes, kCompression, one_of({"none", "top-k", "powersgd"}),
              "What becomes of a shard's gradient before it is added up. `top-k`: only its largest elements "
              "are added, and between hosts only these are sent. `powersgd`: matrices are added as two thin "
              "ones, one after the other. What is left out comes back in the shard's next step (error "
              "feedback): each replica holds two vectors of the model's size for each of its shards, and two "
              "for each second copy."),
          MUSTER_MEMBER(train.compression.kind)),
      bind(only_with(kCompression, {"top-k"},
                     key(kFixes, "train.compression.ratio", share(),
                         "Share of the elements that each shard adds. With a smaller share less is sent, and "
                         "more is left for later steps.")),
           MUSTER_MEMBER(train.compression.ratio)),
      bind(only_with(kCompression, {"powersgd"},
                     key(kFixes, "train.compression.rank", between(ValueType::integer, 1, 256),
                         "Rank of the approximation: columns of the thin matrices. A higher rank sends and "
                         "computes more, and leaves less out.")),
           MUSTER_MEMBER(train.compression.rank)),
      bind(only_with(kCompression, {"top-k", "powersgd"},
                     key(kFree, "train.compression.second_copy", one_of({"same_host", "any_host"}),
                         "Where another replica keeps a copy of what a shard's steps left out. `same_host`: "
                         "through shared memory; if a whole host is lost, or a replica that is alone on its "
                         "host, the run goes back to the last checkpoint. `any_host`: on another host where "
                         "there is one; then a vector of the model's size is sent for each shard and step.")),
           MUSTER_MEMBER(train.compression.second_copy)),
  };
}

std::vector<Key> optimizer_keys() {
  return {
      bind(key(kFixes, kOptimizer, one_of({"sgd", "adam", "adamw"}),
               "The update rule. Adam and AdamW hold two more vectors of the model's size, SGD with momentum "
               "one."),
           MUSTER_MEMBER(train.optimizer.kind)),
      bind(only_with(kOptimizer, {"sgd"},
                     key(kFixes, "train.optimizer.momentum", fraction(),
                         "Share of the last update that is kept; 0 holds no state.")),
           MUSTER_MEMBER(train.optimizer.momentum)),
      bind(only_with(kOptimizer, {"sgd"},
                     key(kFixes, "train.optimizer.nesterov", of(ValueType::boolean),
                         "Nesterov momentum; `momentum` must be above 0.")),
           MUSTER_MEMBER(train.optimizer.nesterov)),
      bind(key(kFixes, "train.optimizer.weight_decay", at_least(ValueType::number, 0),
               "Pulls weights towards 0: added to the gradient with `sgd` and `adam`, apart from it with "
               "`adamw`."),
           MUSTER_MEMBER(train.optimizer.weight_decay)),
      bind(only_with(kOptimizer, {"adam", "adamw"},
                     key(kFixes, "train.optimizer.beta1", fraction(),
                         "Decay of the running mean of the gradient.")),
           MUSTER_MEMBER(train.optimizer.beta1)),
      bind(only_with(
               kOptimizer, {"adam", "adamw"},
               key(kFixes, "train.optimizer.beta2", fraction(), "Decay of the running mean of its square.")),
           MUSTER_MEMBER(train.optimizer.beta2)),
      bind(only_with(kOptimizer, {"adam", "adamw"},
                     key(kFixes, "train.optimizer.epsilon", above(0),
                         "Added to the root of the second mean; larger ones damp updates where gradients are "
                         "small.")),
           MUSTER_MEMBER(train.optimizer.epsilon)),
  };
}

std::vector<Key> schedule_keys() {
  Key initial = key(kFixes, "train.optimizer.learning_rate.initial", above(0),
                    "The rate, after the warm-up. `learning_rate = 0.05` is short for a constant one.");
  initial.short_form = true;
  return {
      bind(key(kFixes, kSchedule, one_of({"constant", "step", "cosine", "warm-up"}),
               "The rate as a function of the step number alone: always `initial`; times `factor` every so "
               "many steps; along half a cosine down to `final`; a linear rise, then `initial`."),
           MUSTER_MEMBER(train.optimizer.learning_rate.kind)),
      bind(initial, MUSTER_MEMBER(train.optimizer.learning_rate.initial)),
      bind(key(kFixes, "train.optimizer.learning_rate.warm_up", at_least(ValueType::integer, 0),
               "Steps of linear rise to `initial`, with any schedule; steadies the first updates of a large "
               "batch."),
           MUSTER_MEMBER(train.optimizer.learning_rate.warm_up)),
      bind(only_with(kSchedule, {"step"},
                     key(kFixes, "train.optimizer.learning_rate.every", at_least(ValueType::integer, 1),
                         "Steps between two multiplications by `factor`.", "none, must be given")),
           MUSTER_MEMBER(train.optimizer.learning_rate.every)),
      bind(only_with(kSchedule, {"step"},
                     key(kFixes, "train.optimizer.learning_rate.factor", above(0),
                         "What the rate is multiplied by.")),
           MUSTER_MEMBER(train.optimizer.learning_rate.factor)),
      bind(only_with(kSchedule, {"cosine"},
                     key(kFixes, "train.optimizer.learning_rate.steps", at_least(ValueType::integer, 1),
                         "Steps from the first to `final`, warm-up included; the rate then stays.",
                         "none, must be given")),
           MUSTER_MEMBER(train.optimizer.learning_rate.steps)),
      bind(only_with(kSchedule, {"cosine"},
                     key(kFixes, "train.optimizer.learning_rate.final", at_least(ValueType::number, 0),
                         "The rate at the end of the cosine.")),
           MUSTER_MEMBER(train.optimizer.learning_rate.final_rate)),
  };
}

std::vector<Key> replica_keys() {
  return {
      bind(key("cluster.replicas", between(ValueType::integer, 1, 65536),
               "Processes that compute, each with a full copy of the model; at most `train.shards`, since "
               "more would idle. Changes the time, never the weights."),
           MUSTER_MEMBER(cluster.replicas)),
      bind(key("cluster.devices", of(ValueType::texts),
               "The device of each replica of `muster run` in turn: `cpu:K`, the K-th logical core that the "
               "run may use, or `cuda:K`, the K-th visible GPU, K counting from 0. With `muster coordinate` "
               "leave it out: `muster join --device` names the device of each replica.",
               "`cpu:0`, `cpu:1`, ... in turn"),
           MUSTER_MEMBER(cluster.devices)),
      bind(key("cluster.share_devices", of(ValueType::boolean),
               "Whether `cluster.devices` may name a device more than once: its replicas share it, and its "
               "memory."),
           MUSTER_MEMBER(cluster.share_devices)),
      bind(key("cluster.bind_cores", of(ValueType::boolean),
               "Whether each replica that `muster run` starts stays on a share of the cores (as mpirun binds "
               "its ranks), where there is a core for each replica, or as many replicas for each core, no "
               "`cluster.devices` are named, and there are no loader processes. Turn it off where several "
               "runs share a machine."),
           MUSTER_MEMBER(cluster.bind_cores)),
      bind(key("cluster.device_memory", or_auto(at_least(ValueType::size, 1)),
               "Bound on what each replica takes of its GPU: weights, gradients, sums, the optimizer, and "
               "what the model computes with. A job that `plan` finds to need more is refused. `auto`: the "
               "memory that is free."),
           MUSTER_MEMBER(cluster.device_memory_bytes)),
  };
}

std::vector<Key> cluster_keys() {
  return {
      bind(key("cluster.listen", name_spec(),
               "Address that the processes listen on. Loopback keeps the run to this machine; another "
               "address opens it to all who can reach it."),
           MUSTER_MEMBER(cluster.listen)),
      bind(key("cluster.data_ports", of(ValueType::text),
               "Ports that nodes listen on for the data of other hosts, as \"7200-7299\", for firewalls: "
               "each node takes one that is free. The coordinator's port must not be among them. Not for "
               "RDMA. Where UCX_NET_DEVICES lets UCX carry TCP, set UCX_TCP_PORT_RANGE, too.",
               "any"),
           MUSTER_MEMBER(cluster.data_ports)),
      bind(key("cluster.on_loss", one_of({"fail", "continue"}),
               "What follows when a replica or loader is lost: the run fails, or goes on in a new view, with "
               "the same bits at the end."),
           MUSTER_MEMBER(cluster.on_loss)),
      bind(key("cluster.reproducible", one_of({"strict", "loose"}),
               "Whether replicas whose hardware or libraries compute other bits for a fixed gradient are "
               "refused, or train together, with an event; then the weights depend on which replica computes "
               "what."),
           MUSTER_MEMBER(cluster.reproducible)),
      bind(key("cluster.min_replicas", between(ValueType::integer, 1, 65536),
               "With fewer replicas training pauses until others join, for at most `cluster.give_up_after`; "
               "then one replica writes a last checkpoint, and the run fails. With `muster run` others join "
               "only if `cluster.restart` is set. Has an effect only with cluster.on_loss = \"continue\"; at "
               "most "
               "cluster.replicas."),
           MUSTER_MEMBER(cluster.min_replicas)),
      bind(key("cluster.give_up_after", at_least(ValueType::duration, 1),
               "How long the run waits before it fails: for replicas or loaders, a message from any replica, "
               "a disk that refuses the journal, or checkpoint.folder when all are to go back. After this "
               "time a checkpoint that its disk refuses is given up, and a replica that has not gone back to "
               "its checkpoint is lost."),
           MUSTER_MEMBER(cluster.give_up_after)),
      bind(key("cluster.orphan_after", at_least(ValueType::duration, 1),
               "With `muster coordinate`: a process whose coordinator is gone for longer than this ends "
               "itself. The coordinator is gone when the connection to it has ended: if it only stands "
               "still, the process waits for it. Meanwhile it goes on with its steps, and tries to reach the "
               "coordinator. A coordinator that is started again waits for its replicas for this time and "
               "some seconds. `muster join --orphan-after` sets it for one process."),
           MUSTER_MEMBER(cluster.orphan_after)),
      bind(key("cluster.restart", one_of({"never", "on-loss"}),
               "Whether `muster run` starts a new process for a lost one. It joins while the others train."),
           MUSTER_MEMBER(cluster.restart)),
      bind(
          key("cluster.restarts", between(ValueType::integer, 0, 65536),
              "The most new processes over the whole run. The time between them doubles from 0.5 s to 10 s."),
          MUSTER_MEMBER(cluster.restarts)),
      bind(key("cluster.join_share", share(),
               "The share of the time in which a replica may be sending its state, and the records after it, "
               "to a newcomer. It bounds how much longer steps take meanwhile. Time not used in the last "
               "minute may be used at once, for one step. With a larger share newcomers become members "
               "sooner. It is exceeded only while no steps run, and for a newcomer that would otherwise "
               "never catch up."),
           MUSTER_MEMBER(cluster.join_share)),
      bind(key("cluster.loaders", between(ValueType::integer, 0, kThreadsMax),
               "Loader processes; batches travel over the network. 0: each replica loads for itself."),
           MUSTER_MEMBER(cluster.loaders)),
      bind(key("cluster.on_loader_loss", one_of({"wait", "load_here", "fail"}),
               "What follows when the last loader is lost: the run pauses, the replicas read the data, or "
               "the run fails."),
           MUSTER_MEMBER(cluster.on_loader_loss)),
      bind(key("cluster.start_patience", at_least(ValueType::duration, 1),
               "Time for all processes to join and be ready; too short a time refuses slow disks. With nodes "
               "that are started by hand, the run fails if none comes for 10 times this while places are "
               "free. If such a node is lost before the "
               "first view, its place stays free for this time."),
           MUSTER_MEMBER(cluster.start_patience)),
  };
}

std::vector<Key> detect_keys() {
  return {
      bind(key("cluster.detect.heartbeat", at_least(ValueType::duration, 1),
               "Interval of the heartbeats that each process sends to the coordinator."),
           MUSTER_MEMBER(cluster.detect.heartbeat)),
      bind(key("cluster.detect.patience", at_least(ValueType::duration, 1),
               "Silence after which a process counts as lost; at least three heartbeats. With a short time a "
               "loss is noticed sooner, but a process whose machine is only busy may be evicted. Before the "
               "first view it is five times as long."),
           MUSTER_MEMBER(cluster.detect.patience)),
  };
}

std::vector<Key> straggler_keys() {
  return {
      bind(key("cluster.straggler.patience", or_auto(at_least(ValueType::duration, 1)),
               "How long a replica waits for others within one step before the event `late` names the late "
               "one and the cause. `auto`: three times the median step, and at least 1 s. No replica is "
               "evicted by this key alone."),
           MUSTER_MEMBER(cluster.straggler.patience)),
      bind(key("cluster.straggler.action", one_of({"wait", "evict", "shed", "speculate", "drop"}),
               "What follows when a replica holds up steps. `wait`: only the event `late`. `evict`: a "
               "replica that is late still, or again within eight steps, counts as lost. `shed`: shards move "
               "from slow replicas to faster ones. `speculate`: "
               "the waiting replicas also compute its missing gradients, and the first answer counts. "
               "`drop`: the step goes on without it, if at least half of the replicas take part; its samples "
               "are used in steps of their own at the end of the epoch. Only `drop` changes the weights."),
           MUSTER_MEMBER(cluster.straggler.action)),
      bind(key("cluster.straggler.stuck_after", at_least(ValueType::duration, 1),
               "A replica or loader that others wait for, and that has made no progress for this time, "
               "counts as lost although it sends heartbeats; a replica only if there are more than "
               "cluster.min_replicas. A loader that sends no micro-batch for 10 times this time counts as "
               "lost, too. Set it longer than one micro-batch ever takes."),
           MUSTER_MEMBER(cluster.straggler.stuck_after)),
  };
}

#undef MUSTER_MEMBER

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (std::vector<Key> part : {top_keys(), model_keys(), data_keys(), train_keys(), step_check_keys(),
                                compression_keys(), optimizer_keys(), schedule_keys()}) {
    keys.insert(keys.end(), part.begin(), part.end());
  }
  for (std::vector<Key> part : {replica_keys(), cluster_keys(), corruption_keys(), detect_keys(),
                                straggler_keys(), reduce_keys(), checkpoint_keys(), report_keys()}) {
    for (Key& key : part) key.in_hash = InHash::no;  // where a job runs fixes none of its mathematics
    keys.insert(keys.end(), part.begin(), part.end());
  }
  return keys;
}

std::vector<std::string> all_tables() {
  std::vector<std::string> tables;
  for (const Key& key : job_keys()) {
    const std::string table = table_of(key.path);
    if (!table.empty() && std::find(tables.begin(), tables.end(), table) == tables.end()) {
      tables.push_back(table);
    }
  }
  return tables;
}

}  // namespace

const std::vector<Key>& job_keys() {
  static const std::vector<Key> keys = all_keys();
  return keys;
}

const Key* find_key(const std::string& path) {
  const std::vector<Key>& keys = job_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

const std::vector<std::string>& job_tables() {
  static const std::vector<std::string> tables = all_tables();
  return tables;
}

bool applies(const Key& key, const Job& job) {
  if (key.selector.empty()) {
    return true;
  }
  const Value value = *find_key(key.selector)->get(job);
  const auto& values = key.selected_by;
  return std::find(values.begin(), values.end(), std::get<std::string>(value)) != values.end();
}

std::string default_text(const Key& key) {
  if (!key.default_text.empty()) {
    return key.default_text;
  }
  const std::optional<Value> value = key.get(Job{});
  return value ? '`' + value_text(key.value, *value) + '`' : "none";
}

}  // namespace muster
