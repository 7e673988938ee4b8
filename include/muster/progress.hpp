// What a run counts and measures: the facts of its data, the progress of its steps, the ledger of its epochs,
// where its time went, what it has sent. Plain values; `fields` lists what travels between processes.
//
//   #include "muster/run.hpp"
//
//   void listen(muster::RunOptions& options) {
//     options.on_progress = [](const muster::Progress& progress, const muster::DataFacts& facts) {
//       std::printf("step %llu, %llu an epoch: loss %g\n", static_cast<unsigned long long>(progress.step),
//                   static_cast<unsigned long long>(facts.steps_per_epoch), progress.loss);
//     };
//   }
//   double last_accuracy(const muster::Report& report) {
//     return report.epochs.empty() ? 0 : report.epochs.back().accuracy;
//   }
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

namespace muster {

/// What the loading side knows of the data; the same on every node that reads it.
struct DataFacts {
  std::int64_t samples = -1;          ///< of an epoch, in the ledger's unit; -1: unknown length
  bool unit_is_batch = false;         ///< the ledger counts ready-made batches, not samples
  bool has_test = false;              ///< there is a test set, so the job may evaluate
  std::uint64_t dropped = 0;          ///< of an epoch, by remainder = "drop"
  std::uint64_t steps_per_epoch = 0;  ///< 0: unknown
  std::int64_t take_asked = -1;       ///< data.take, if it asked for more than there is
  std::int64_t take_had = -1;         ///< and how much there was
  std::string fingerprint;            ///< of the training data (Source::fingerprint)

  static auto fields(DataFacts& x) {
    return std::tie(x.samples, x.unit_is_batch, x.has_test, x.dropped, x.steps_per_epoch, x.take_asked,
                    x.take_had, x.fingerprint);
  }
  bool operator==(const DataFacts&) const = default;
};

/// How far a run is: of its last step.
struct Progress {
  std::uint64_t epoch = 0;    ///< from 1
  std::uint64_t step = 0;     ///< from 1, over the whole job
  std::uint64_t samples = 0;  ///< of the job, with this step
  double loss = 0;            ///< mean of the last step
  double gradient_norm = 0;   ///< of its mean gradient, before it was clipped; 0 without train.clip_norm
  std::uint32_t took = 0;     ///< Muster's own: the latest view in which the replica that tells took a step

  static auto fields(Progress& x) {
    return std::tie(x.epoch, x.step, x.samples, x.loss, x.gradient_norm, x.took);
  }
};

/// A step in the report.
struct ProgressRow {
  double time_ms = 0;             ///< since the run began
  std::uint64_t epoch = 0;        ///< from 1
  std::uint64_t step = 0;         ///< from 1, over the whole job
  std::uint64_t samples = 0;      ///< of the job, with this step
  double loss = 0;                ///< mean over the samples of this step
  double learning_rate = 0;       ///< of this step
  double samples_per_second = 0;  ///< since the row before; 0: not known
  double gradient_norm = 0;       ///< 0 without train.clip_norm

  bool operator==(const ProgressRow&) const = default;
};

/// One epoch's ledger and evaluation, as counted by one replica.
struct EpochEnd {
  std::uint32_t slot = 0;      ///< Muster's own: the replica that counted
  std::uint64_t epoch = 0;     ///< from 1
  bool complete = false;       ///< its data came to the end; false if train.steps cut it short
  std::uint64_t steps = 0;     ///< of the job so far
  std::uint64_t samples = 0;   ///< of the job so far
  std::uint64_t used = 0;      ///< samples (or batches: the ledger's unit) that some step used
  std::uint64_t repeated = 0;  ///< uses beyond the first one
  std::uint64_t missed = 0;    ///< of a complete epoch: neither used nor dropped
  std::uint64_t dropped = 0;   ///< left out by remainder = "drop"
  bool evaluated = false;      ///< whether the test set was evaluated behind it
  double loss = 0;             ///< mean over the test set
  double accuracy = 0;         ///< share of right answers of the test set
  double train_loss = 0;       ///< mean over the epoch
  std::uint32_t view = 0;      ///< Muster's own: in which it was told

  static auto fields(EpochEnd& x) {
    return std::tie(x.slot, x.epoch, x.complete, x.steps, x.samples, x.used, x.repeated, x.missed, x.dropped,
                    x.evaluated, x.loss, x.accuracy, x.train_loss, x.view);
  }
  /// Whoever counted it, and in whichever view; to the bit, so that a loss that is NaN is the same
  /// as itself.
  bool same_as(const EpochEnd& other) const {
    const auto bits = [](auto value) {
      if constexpr (std::is_same_v<decltype(value), double>) {
        return std::bit_cast<std::uint64_t>(value);
      } else {
        return value;
      }
    };
    const auto all = [&](EpochEnd x) {
      x.slot = x.view = 0;
      return std::apply([&](auto... field) { return std::make_tuple(bits(field)...); }, fields(x));
    };
    return all(*this) == all(other);
  }
};

/// Where a replica's time went, in seconds.
struct PhaseTimes {
  double wait_for_batch_s = 0;        ///< without a micro-batch to compute with
  double compute_s = 0;               ///< forward, backward, sums of the node's own shards
  double reduce_s = 0;                ///< from handing in the sums to holding the result
  double update_s = 0;                ///< the optimizer's update
  double evaluate_s = 0;              ///< evaluation, all of it
  double reduce_hidden_s = 0;         ///< the part of compute_s with buckets of the sums under way
  double wait_for_peers_s = 0;        ///< the part of reduce_s until the headers of all others had come
  std::int64_t waited_most_for = -1;  ///< the replica whose header came last for most of that time; -1: none
  double waited_most_s = 0;           ///< how much of that time

  static auto fields(PhaseTimes& x) {
    return std::tie(x.wait_for_batch_s, x.compute_s, x.reduce_s, x.update_s, x.evaluate_s, x.wait_for_peers_s,
                    x.waited_most_for, x.waited_most_s, x.reduce_hidden_s);
  }
};

/// What was handed to the transport for one kind of path.
struct Sent {
  std::uint64_t frames = 0;  ///< each with a header, which is counted nowhere else
  std::uint64_t payload_bytes =
      0;  ///< of sums and results: what docs/internals/collectives.md has formulas for
  std::uint64_t metadata_bytes = 0;  ///< of headers and losses
  std::uint64_t other_bytes = 0;     ///< micro-batches, records, states

  static auto fields(Sent& x) { return std::tie(x.frames, x.payload_bytes, x.metadata_bytes, x.other_bytes); }

  /// Adds another count.
  Sent& operator+=(const Sent& more) {
    frames += more.frames;
    payload_bytes += more.payload_bytes;
    metadata_bytes += more.metadata_bytes;
    other_bytes += more.other_bytes;
    return *this;
  }
  /// What was sent since an earlier count of the same.
  Sent since(const Sent& before) const {
    return {frames - before.frames, payload_bytes - before.payload_bytes,
            metadata_bytes - before.metadata_bytes, other_bytes - before.other_bytes};
  }
  bool operator==(const Sent&) const = default;
};

/// What a replica sent to other processes over the data plane.
struct Traffic {
  Sent within_host;    ///< to processes of the same host
  Sent between_hosts;  ///< to all others

  static auto fields(Traffic& x) { return std::tie(x.within_host, x.between_hosts); }

  /// Adds another count.
  Traffic& operator+=(const Traffic& more) {
    within_host += more.within_host;
    between_hosts += more.between_hosts;
    return *this;
  }
  /// What was sent since an earlier count of the same.
  Traffic since(const Traffic& before) const {
    return {within_host.since(before.within_host), between_hosts.since(before.between_hosts)};
  }
  bool operator==(const Traffic&) const = default;
};

}  // namespace muster
