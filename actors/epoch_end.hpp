// What a replica counts and measures: an epoch's ledger and evaluation, and where its time went.
#pragma once

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "muster/actors/message.hpp"
#include "muster/transport/traffic.hpp"

namespace muster {

/// One epoch's ledger and evaluation, as counted by one replica.
struct EpochEnd {
  std::uint32_t slot = 0;
  std::uint64_t epoch = 0;
  bool complete = false;
  std::uint64_t steps = 0;  ///< of the job so far
  std::uint64_t samples = 0;
  std::uint64_t used = 0, repeated = 0, missed = 0, dropped = 0;
  bool evaluated = false;
  double loss = 0, accuracy = 0;  ///< of the test set
  double train_loss = 0;          ///< mean over the epoch
  std::uint32_t view = 0;         ///< in which it is told

  static auto fields(EpochEnd& x) {
    return std::tie(x.slot, x.epoch, x.complete, x.steps, x.samples, x.used, x.repeated, x.missed, x.dropped,
                    x.evaluated, x.loss, x.accuracy, x.train_loss, x.view);
  }
  /// Whoever counted it, and in whichever view; to the bit, so that a loss that is not a number is the same
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
MUSTER_MESSAGE(EpochEnd)

/// Where a replica's time went, in seconds.
struct Phases {
  double wait_for_batch_s = 0, compute_s = 0, reduce_s = 0, update_s = 0, evaluate_s = 0;
  double reduce_hidden_s = 0;         ///< the part of compute_s with buckets of the sums under way
  double wait_for_peers_s = 0;        ///< the part of reduce_s until the last word of the others had come
  std::int64_t waited_most_for = -1;  ///< the replica whose word came last for most of that time; -1: none
  double waited_most_s = 0;

  static auto fields(Phases& x) {
    return std::tie(x.wait_for_batch_s, x.compute_s, x.reduce_s, x.update_s, x.evaluate_s, x.wait_for_peers_s,
                    x.waited_most_for, x.waited_most_s, x.reduce_hidden_s);
  }
};
MUSTER_MESSAGE(Phases)

// What a replica has sent (transport/traffic.hpp) travels, too.
MUSTER_MESSAGE(Sent)
MUSTER_MESSAGE(Traffic)

}  // namespace muster
