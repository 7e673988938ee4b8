// A job: one training run, as a plain value. Read from TOML (job_file.hpp) or built in C++ by an embedding
// program. Each field's comment gives meaning, unit and trade-off; docs/reference/job.md has them by key.
//
//   #include "muster/job.hpp"
//
//   muster::Job job() {
//     muster::Job job;
//     job.name = "line";
//     job.model.name = "linear";
//     job.model.options["inputs"] = std::int64_t{16};
//     job.data.source = "synthetic";
//     job.train.shards = 4;
//     job.train.epochs = 3;
//     job.cluster.replicas = 2;
//     return job;
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/intervals.hpp"
#include "muster/options.hpp"

namespace muster {

/// Exactly one of name, file and library is given.
struct ModelConfig {
  std::string name;                    ///< of a registered model
  std::optional<std::string> file;     ///< path of a TorchScript module
  std::optional<std::string> library;  ///< path of a shared library that registers models
  std::optional<std::string> entry;    ///< which of the library's models; may be left out if it has one
  Options options;                     ///< declared by the model
  /// SHA-256 of the file or the library as this process read it; filled in with the defaults (job_file.hpp),
  /// never written. Empty with a name.
  std::string content;

  /// Of the file or the library; empty with a name.
  std::string path() const { return file.value_or(library.value_or(std::string())); }
  /// For people: the name, the file, or the library and which of its models.
  std::string shown() const { return name + path() + (entry ? " (" + *entry + ")" : std::string()); }

  bool operator==(const ModelConfig&) const = default;
};

/// Table `data`: where samples come from, and which of them are used.
struct DataConfig {
  std::string source;  ///< name of a registered source
  Options options;     ///< declared by the source
  /// A new seeded permutation each epoch; default: true for indexed sources, and only they may.
  std::optional<bool> shuffle;
  /// Samples cut from the front, in source order, before the shuffle.
  std::uint64_t skip = 0;
  /// Samples kept after skip; more than there is: `exhausted`, not an error.
  std::optional<std::uint64_t> take;
  /// Passes that may serve `train.steps`; 0 stands for "forever".
  std::optional<std::uint64_t> repeat;
  /// Micro-batches a shard may hold ready.
  std::uint32_t prefetch = 2;
  /// Bound on what a node's loading holds: source and micro-batches.
  std::uint64_t memory_bytes = 256ull << 20;
  /// Loader threads of a node; 0: one if a core is free, else none; 1: one in any case.
  std::uint32_t threads = 0;

  bool operator==(const DataConfig&) const = default;
};

/// What becomes of a last batch that is not full: train on it, leave it out, or fill it with rows of weight
/// 0.
enum class Remainder { keep, drop, pad };

/// Shape of the learning rate over the steps.
enum class ScheduleKind { constant, step, cosine, warm_up };

/// Learning rate as a function of the step number alone. Step t counts from 1.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;  ///< which of the fields below apply
  double initial = 0.01;                       ///< the rate after warm-up
  std::uint64_t warm_up = 0;  ///< steps of linear rise from initial/warm_up to initial; with any kind
  std::uint64_t every = 0;    ///< step: the rate is multiplied by `factor` every so many steps
  double factor = 0.1;        ///< step
  std::uint64_t steps = 0;    ///< cosine: steps from initial to final, warm-up included; then final
  double final_rate = 0.0;    ///< cosine

  bool operator==(const ScheduleConfig&) const = default;
};

/// The update rule.
enum class OptimizerKind { sgd, adam, adamw };

/// Table `train.optimizer`. All of it is part of the mathematics.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::sgd;  ///< which of the fields below apply
  ScheduleConfig learning_rate;             ///< a function of the step number
  double momentum = 0.0;                    ///< sgd
  bool nesterov = false;                    ///< sgd; needs momentum > 0
  double weight_decay = 0.0;                ///< sgd and adam: added to the gradient; adamw: decoupled
  double beta1 = 0.9;                       ///< adam, adamw
  double beta2 = 0.999;                     ///< adam, adamw
  double epsilon = 1e-8;                    ///< adam, adamw

  bool operator==(const OptimizerConfig&) const = default;
};

/// What models compute in.
enum class Precision { float32, bfloat16 };

/// In which type gradients travel between hosts.
enum class GradientWire { float32, float16, bfloat16 };

/// What becomes of a shard's gradient before it is added up.
enum class CompressionKind { none, top_k, powersgd };

/// Where the second copy of a shard's state may be.
enum class SecondCopy { same_host, any_host };

/// Table `train.compression`. Part of the mathematics, except for `second_copy`.
struct CompressionConfig {
  CompressionKind kind = CompressionKind::none;  ///< which of the fields below apply
  double ratio = 0.01;                           ///< top-k: share of the elements that a shard adds to a step
  std::uint32_t rank = 4;                        ///< powersgd: of the approximation of each matrix
  SecondCopy second_copy = SecondCopy::same_host;  ///< of what a shard has left out

  bool operator==(const CompressionConfig&) const = default;
};

/// What follows when a step's numbers are not finite.
enum class OnNotFinite { stop, report };

/// Table `train`: the mathematics of the job, and what is done beside it.
struct TrainConfig {
  std::uint32_t shards = 1;  ///< S, for life; fixes the mathematics, not the hardware
  std::uint32_t batch = 32;  ///< samples per shard per step
  /// Passes over the data; default 1 when neither epochs nor steps is given.
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> steps;        ///< ends after so many steps; not with epochs
  Remainder remainder = Remainder::keep;     ///< what becomes of a last batch that is not full
  std::uint32_t threads = 1;                 ///< compute threads per replica; part of the mathematics
  Precision precision = Precision::float32;  ///< part of the mathematics
  bool evaluate = true;  ///< evaluate on the test set after every epoch, if the source has one
  GradientWire wire = GradientWire::float32;  ///< part of the mathematics: what is sent is rounded everywhere
  std::int64_t wire_exponent = 0;             ///< float16: rounded after a product with 2 to this power
  bool shard_optimizer = false;               ///< each replica holds and updates a part; changes no bit
  /// Bound on the norm of the mean gradient, beyond which it is scaled down; part of the mathematics.
  std::optional<double> clip_norm;
  OnNotFinite not_finite = OnNotFinite::stop;  ///< a NaN or an infinite number in a loss or the mean gradient
  Rate audit{256};                             ///< how often a shard is computed by a second replica, too
  CompressionConfig compression;               ///< of gradients, before they are added up
  OptimizerConfig optimizer;                   ///< the update

  /// Whether shards have a state of their own: what compression left out.
  bool shards_have_state() const { return compression.kind != CompressionKind::none; }
  /// Whether replicas hold what no other replica has as well, but for one.
  bool in_parts() const { return shard_optimizer || shards_have_state(); }

  bool operator==(const TrainConfig&) const = default;
};

/// Table `cluster.detect`: when a silent node counts as lost.
struct DetectConfig {
  std::chrono::milliseconds heartbeat{100};  ///< interval of each node's sign of life
  std::chrono::milliseconds patience{1000};  ///< silence that makes a node lost

  bool operator==(const DetectConfig&) const = default;
};

/// What follows when a replica holds up a step.
enum class StragglerAction { wait, evict, shed, speculate, drop };

/// Table `cluster.straggler`: when a replica counts as late or stuck, and what follows.
struct StragglerConfig {
  /// Waiting within one step before `late` is said; 0 stands for "auto": 3 median steps, at least 1 s.
  std::chrono::milliseconds patience{0};
  StragglerAction action = StragglerAction::wait;  ///< beyond `patience`
  /// A replica that holds up a step and whose progress counter stands still for so long is lost.
  std::chrono::milliseconds stuck_after{60000};

  bool operator==(const StragglerConfig&) const = default;
};

/// What a lost replica means: the end of the run, or a new view without it.
enum class OnLoss { fail, go_on };

/// What follows when no loader process is left: a pause until one comes, replicas that load for themselves,
/// or the end of the run.
enum class OnLoaderLoss { wait, load_here, fail };

/// Whether the local launcher starts a new process for a lost one.
enum class Restart { never, on_loss };

/// Whether replicas must compute the same bits to train together.
enum class Reproducible { strict, loose };

/// What follows when replicas hold other bits.
enum class OnCorruption { report, evict, stop };

/// Table `cluster`: the hardware, and what follows when some of it fails. Changes no bit of the weights,
/// except for `reproducible` "loose" and `straggler.action` "drop".
struct ClusterConfig {
  std::uint32_t replicas = 1;  ///< that the first view needs; from 1 to train.shards
  /// "cpu:K" or "cuda:K", exactly one for each replica; empty: cores in turn.
  std::vector<std::string> devices;
  bool share_devices = false;             ///< whether a device may be that of several replicas
  bool bind_cores = true;                 ///< whether replicas of one machine have cores of their own
  std::uint64_t device_memory_bytes = 0;  ///< what a replica may take of a GPU; 0: what is free
  std::string listen = "127.0.0.1";       ///< address that coordinator and nodes listen on
  std::string data_ports;                 ///< "47000-47999" or "47000"; empty: any
  OnLoss on_loss = OnLoss::go_on;         ///< what a lost replica means
  Reproducible reproducible = Reproducible::strict;  ///< whether unlike replicas are refused
  std::uint32_t min_replicas = 1;                    ///< with fewer the run pauses until others come
  std::chrono::milliseconds give_up_after{600000};   ///< how long a pause may last
  std::chrono::milliseconds orphan_after{60000};     ///< a process without coordinator ends itself
  Restart restart = Restart::never;                  ///< whether the launcher starts lost processes anew
  std::uint32_t restarts = 10;                       ///< at most, over the whole run
  double join_share = 0.1;                           ///< of the steps' time, for giving a newcomer the state
  std::uint32_t loaders = 0;                         ///< loader processes; 0: each node loads for itself
  OnLoaderLoss on_loader_loss = OnLoaderLoss::wait;  ///< when the last of them is lost
  std::chrono::milliseconds start_patience{60000};   ///< time for all nodes to join and be ready
  OnCorruption on_corruption = OnCorruption::evict;  ///< when replicas are found to hold other bits
  DetectConfig detect;                               ///< of silence
  StragglerConfig straggler;                         ///< of late replicas

  /// Whether replicas may have to read the data.
  bool replicas_load() const { return loaders == 0 || on_loader_loss == OnLoaderLoss::load_here; }

  bool operator==(const ClusterConfig&) const = default;
};

/// How a sum is shared out among replicas; docs/internals/collectives.md.
enum class ReduceAlgorithm { automatic, direct, halving_doubling, hierarchical, one_shot };

/// Table `reduce`: how gradients are summed over replicas. Changes no bit of the weights.
struct ReduceConfig {
  ReduceAlgorithm algorithm = ReduceAlgorithm::automatic;  ///< automatic: by model size and hosts
  std::uint64_t bucket_bytes = 0;  ///< of gradients that go out as one while others are computed; 0: auto
  bool gpu_direct = false;         ///< experimental: sums go from GPU to GPU where UCX moves GPU memory

  bool operator==(const ReduceConfig&) const = default;
};

/// Table `checkpoint`: where and how often the state of a run is written.
struct CheckpointConfig {
  std::string folder;                      ///< where checkpoints are written; empty: nowhere
  Interval every;                          ///< and one at the end in any case
  std::uint32_t keep = 3;                  ///< the last so many stay
  std::chrono::milliseconds grace{20000};  ///< for the last checkpoint of a run that is told to end
  std::string start_from;                  ///< weights to begin with, as safetensors; empty: the model's own
  std::string spare_folder;  ///< for the last checkpoint if `folder` takes none; empty: the temporary folder

  bool operator==(const CheckpointConfig&) const = default;
};

/// Table `report`.
struct ReportConfig {
  ProgressEvery progress_every;  ///< event `progress`, rows of the report

  bool operator==(const ReportConfig&) const = default;
};

/// One training run. A field for each table of the job file.
struct Job {
  std::string name = "job";     ///< in reports, events and file names
  std::uint64_t seed = 1;       ///< of initial weights, shuffling, and random numbers in models
  ModelConfig model;            ///< what is trained
  DataConfig data;              ///< on what
  TrainConfig train;            ///< the mathematics
  ClusterConfig cluster;        ///< the hardware
  ReduceConfig reduce;          ///< sums of gradients
  CheckpointConfig checkpoint;  ///< what is kept
  ReportConfig report;          ///< what is told on the way

  bool operator==(const Job&) const = default;
};

}  // namespace muster
