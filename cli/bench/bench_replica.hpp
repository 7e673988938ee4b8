// What stands in a replica's place for `muster bench allreduce`: it opens rounds and contributes through the
// same reducer, data plane and reduction, on data that change with each iteration, and compares every element
// with a plain oracle.
#pragma once

#include "actors/node/node.hpp"
#include "actors/replica/replica.hpp"

namespace muster::cli {

struct BenchOptions {
  std::uint64_t iterations = 20;
  std::uint64_t warm_up = 3;
  std::int64_t flip_at =
      -1;  ///< iteration at which rank 0 flips one bit of its result: the check must see it
};

/// What one rank measured, as it travels in ReplicaDone::note.
struct BenchResult {
  std::vector<double> times_us;  ///< by iteration
  bool correct = true;
};
std::string encode(const BenchResult& result);
BenchResult decode_bench_result(const std::string& note);

class BenchReplicaState {
 public:
  static inline const char* name = "bench_replica";
  using Self = replica_actor::stateful_pointer<BenchReplicaState>;

  void start(Self self, ReplicaSetup setup, BenchOptions options);
  void on(const Assignment& message);
  void fill();
  void on(const Computed& message);
  void on(const RoundDone& message);
  void on(const Hashed& message);

 private:
  RoundHeader header(RoundKind kind) const;
  void barrier();
  void reduce();
  void check();

  replica_actor::pointer self_ = nullptr;
  ReplicaSetup setup_;
  Assignment assignment_;
  reducer_actor reducer_;
  BenchOptions options_;
  BenchResult result_;
  Traffic traffic_;  // of the timed rounds and those to warm up
  std::vector<NodeValue> nodes_;
  std::uint64_t iteration_ = 0;
  int barriers_ = 0;
  std::uint64_t round_ = 1;
  std::uint64_t record_hash_ = 0;
  caf::actor_clock::time_point begun_{};
};

replica_actor::behavior_type bench_replica(BenchReplicaState::Self self, ReplicaSetup setup,
                                           BenchOptions options);

}  // namespace muster::cli
