// A replica's context for the test of a duty: what the duty sends is kept, and what it has computed waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/replica/context/replica_context.hpp"

namespace muster::testing {

class KeptPort final : public ReplicaPort {
 public:
  struct Sent {
    std::vector<ToNode> node;
    std::vector<ToReducer> reducer;
    std::vector<Need> shards;
    std::vector<std::pair<std::chrono::nanoseconds, Later>> self;
    std::vector<Answer> answers;
    std::chrono::nanoseconds now{0};
  };
  explicit KeptPort(Sent& sent) : sent_(sent) {}

  std::chrono::nanoseconds now() const override { return sent_.now; }
  void to_node(ToNode message) override { sent_.node.push_back(std::move(message)); }
  void to_reducer(ToReducer message) override { sent_.reducer.push_back(std::move(message)); }
  void to_shard(const caf::strong_actor_ptr&, const Need& need) override { sent_.shards.push_back(need); }
  void to_self(std::chrono::nanoseconds after, Later message) override {
    sent_.self.emplace_back(after, std::move(message));
  }
  std::function<void(ToNode)> posts_to_node() const override {
    return [&sent = sent_](ToNode message) { sent.node.push_back(std::move(message)); };
  }
  std::function<void(ToReducer)> posts_to_reducer() const override {
    return [&sent = sent_](ToReducer message) { sent.reducer.push_back(std::move(message)); };
  }
  std::function<void(Answer)> posts_answers() const override {
    return [&sent = sent_](Answer message) { sent.answers.push_back(std::move(message)); };
  }

 private:
  Sent& sent_;
};

class WaitingJobs final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  std::size_t size() const { return jobs_.size(); }
  void drop() { jobs_.clear(); }
  void run() {
    for (const auto& job : std::exchange(jobs_, {})) job();
  }

 private:
  std::vector<std::function<void()>> jobs_;
};

/// Replica 1 of a view of three; view and job may be changed.
struct DutyContext {
  KeptPort::Sent sent;
  std::shared_ptr<WaitingJobs> jobs = std::make_shared<WaitingJobs>();
  std::optional<TrainingPosition> position;
  ReplicaContext context;

  explicit DutyContext(const Job& job = {}) {
    DataFacts facts;
    facts.samples = 100;
    position.emplace(job, facts, 1);
    context.setup.slot = 1;
    context.setup.facts = facts;
    context.setup.trainer = std::make_shared<TrainerState>();
    context.setup.trainer->job = job;
    context.setup.compute = jobs;
    context.setup.background = jobs;
    context.port = std::make_unique<KeptPort>(sent);
    context.position = &*position;
    View& view = context.assignment.view;
    view.number = 5;
    view.facts = facts;
    for (const std::uint32_t slot : {0u, 1u, 2u}) {
      Member member;
      member.name.slot = slot;
      member.begin = 2 * slot;
      member.end = member.begin + 2;
      view.replicas.push_back(member);
    }
    context.assignment.begin = 2;
    context.assignment.end = 4;
    context.assignment.shards.resize(2);
    context.phase.enter();
    (void)context.phase.begin();
  }

  // A job holds what it works on, which may hold the executor: as at a real one's end, those that wait are
  // dropped.
  ~DutyContext() { jobs->drop(); }
  DutyContext(const DutyContext&) = delete;
  DutyContext& operator=(const DutyContext&) = delete;

  View& view() { return context.assignment.view; }
  Activity activity() const { return context.trainer().progress->status().activity; }
  /// It holds so many records.
  void take_records(std::uint64_t records) {
    while (position->records() < records) position->take(RoundRecord{});
  }
};

/// What was sent last and is a `Message`; null if the last one is none.
template <class Message, class Messages>
const Message* last_as(const Messages& messages) {
  return messages.empty() ? nullptr : std::get_if<Message>(&messages.back());
}

inline Item item_with_rows(std::uint32_t shard, std::uint32_t rows) {
  Item item;
  item.shard = shard;
  auto batch = std::make_shared<Batch>();
  batch->rows = rows;
  item.batch = batch;
  return item;
}

inline Item ended_item(std::uint32_t shard) {
  Item item;
  item.shard = shard;
  item.ended = true;
  return item;
}

}  // namespace muster::testing
