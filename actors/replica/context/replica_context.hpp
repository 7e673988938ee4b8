// What the duties of a replica share: what it was given, its view, what it is doing, and the way out.
// ReplicaState alone changes its fields; each duty reads them.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/checkpoint/checkpointer.hpp"
#include "actors/checkpoint/snapshot.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "actors/replica/context/replica_port.hpp"
#include "actors/replica/states/replica_phase.hpp"
#include "actors/replica/states/training_position.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

/// What a replica is given.
struct ReplicaSetup {
  std::uint32_t slot = 0;
  DataFacts facts;
  std::shared_ptr<TrainerState> trainer;
  std::shared_ptr<Executor> compute;
  node_actor node;
  std::shared_ptr<Executor> background;       ///< what no step waits for: encoding, hashing
  std::shared_ptr<Checkpointer> checkpoints;  ///< null: none are written
  std::shared_ptr<const Snapshot> from;       ///< to go on from; null: the beginning
};

struct ReplicaContext {
  ReplicaContext() = default;
  ReplicaContext(const ReplicaContext&) = delete;  // the duties refer to it
  ReplicaContext& operator=(const ReplicaContext&) = delete;

  ReplicaSetup setup;
  std::unique_ptr<ReplicaPort> port;
  const TrainingPosition* position = nullptr;  ///< Bookkeeping has it
  Assignment assignment;                       ///< in the current view
  ReplicaPhase phase;
  std::uint64_t turn = 0;   ///< answers to what was asked for in an earlier one are ignored
  std::uint64_t round = 1;  ///< within the view; the greeting was 0

  TrainerState& trainer() const { return *setup.trainer; }
  const Job& job() const { return setup.trainer->job; }
  const View& view() const { return assignment.view; }
  const RoundSchedule& schedule() const { return position->schedule(); }
  std::uint64_t records() const { return position->records(); }
  bool in_parts() const { return job().train.in_parts(); }
  /// In each view one replica speaks for all: the first.
  bool speaks() const { return view().replicas.front().name.slot == setup.slot; }
  std::chrono::nanoseconds now() const { return port->now(); }

  /// For those who watch this replica; returns ProgressBoard's turn.
  std::uint64_t show(Activity activity, std::uint32_t shard = 0) const {
    return setup.trainer->progress->now(activity, shard);
  }
  void raise(Event event) const { port->to_node(Raised{std::move(event)}); }
  /// This replica cannot go on. With `events` every replica finds the same, and the run ends.
  void trouble(const std::string& reason, std::vector<Event> events = {}) const;

  /// Runs on the compute thread; what `job` returns comes back as a message. What it throws is the answer's
  /// error.
  template <class JobFunction>
  void compute(JobFunction job) const;
  /// The same without an answer. What `job` throws is Trouble.
  template <class JobFunction>
  void on_compute_thread(JobFunction job) const;
};

inline void ReplicaContext::trouble(const std::string& reason, std::vector<Event> events) const {
  const bool ends_run = !events.empty();
  port->to_node(Trouble{reason, std::move(events), {}, ends_run});
}

template <class JobFunction>
void ReplicaContext::compute(JobFunction job) const {
  using Answer = decltype(job(*setup.trainer));
  setup.compute->submit(
      [trainer = setup.trainer, post = port->posts_answers(), asked = turn, job = std::move(job)]() mutable {
        Answer answer;
        try {
          answer = job(*trainer);
        } catch (const ShardError& error) {
          answer = {};
          answer.error = error.what();
          if constexpr (std::is_same_v<Answer, Computed>) answer.error_shard = error.shard;
        } catch (const std::exception& error) {
          answer.error = error.what();
        }
        trainer->progress->moved();
        answer.turn = asked;
        post(std::move(answer));
      });
}

template <class JobFunction>
void ReplicaContext::on_compute_thread(JobFunction job) const {
  setup.compute->submit(
      [trainer = setup.trainer, post = port->posts_to_node(), job = std::move(job)]() mutable {
        try {
          job(*trainer);
        } catch (const std::exception& error) {
          post(Trouble{error.what()});
        }
        trainer->progress->moved();
      });
}

}  // namespace muster
