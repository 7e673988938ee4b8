// What a steady round allocates, from the header and the gradient's hand-in to the record in hand, on the
// threads that move it and on those that drive: nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/allocation/counted_new.hpp"
#include "transport/borrowable.hpp"
#include "transport/collective/engine.hpp"
#include "transport/node/node_transport.hpp"
#include "transport/progress/progress_thread.hpp"

namespace {

using namespace muster;
using muster::testing::AllocationWatch;

constexpr std::uint32_t kMembers = 2;

/// One member of a view: an engine on a progress thread, as in a node.
class Member {
 public:
  Member(std::uint32_t self, std::size_t elements, bool sparse)
      : self_(self),
        sparse_(sparse),
        gradient_(elements, sparse ? 0.0F : 1.0F),
        result_(elements),
        transport_(make_node_transport({})) {
    for (std::size_t i = 0; i < elements; i += 100) gradient_[i] = gradient_[elements - 1 - i] = 1.0F;
    address_ = transport_->address();
    Engine::Hooks hooks;
    hooks.round_done = [this](std::shared_ptr<const RoundRecord> record) {
      hash_ = record->hash;
      frames_ = record->sent.within_host.frames;
      ++rounds_;
      rounds_.notify_all();
    };
    hooks.reduction_failed = [this](const std::string& reason) { ended(reason); };
    hooks.peer_failed = [this](std::uint32_t, PeerId, const std::string& reason) { ended(reason); };
    hooks.refused = [this](const std::string& reason) { ended(reason); };
    hooks.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
    hooks.closed = [](std::uint32_t, bool, bool) {};
    engine_ = std::make_unique<Engine>(*transport_, std::move(hooks));
    ProgressOptions options;
    options.busy = [this] { return engine_->busy(); };
    thread_ = std::make_unique<ProgressThread>(std::move(transport_), options);
  }
  ~Member() { thread_.reset(); }
  const std::string& address() const { return address_; }

  void install(const std::vector<std::string>& addresses) {
    ReductionShape shape;
    shape.view = 1;
    shape.self = self_;
    shape.shards = kMembers;
    shape.elements = result_.size();
    shape.bucket_elements = Buckets::suitable(shape.elements, kMembers);
    shape.sparse = sparse_;
    shape.shares_memory = true;
    shape.one_shot_too = !sparse_ && shape.elements > 1'000;  // some rounds go this way, some that
    std::vector<Engine::Peer> peers;
    for (std::uint32_t m = 0; m < kMembers; ++m) {
      shape.members.push_back({m, 1, m, m + 1, sparse_ ? m : 0});
      if (m != self_) peers.push_back({m, 1, addresses[m]});
    }
    thread_->run([&] {
      engine_->install(1, self_, 1, peers, &shape, {});
      RoundHeader greeting;
      greeting.kind = RoundKind::greeting;
      engine_->reduction()->open(greeting, {});
    });
    await(1);
  }

  /// A step, as a replica and its reducer take it.
  void step(std::uint64_t round) {
    header_.round = round;
    header_.epoch = 1;
    header_.step = round;
    header_.applied = round - 1;
    header_.record_hash = hash_;
    header_.shards = {{self_, 0, 1, 0, round, 1, 1.0}};
    thread_->run([&] { engine_->reduction()->open(header_, result_); });
    thread_->drive([&] { engine_->reduction()->contribute(round, sums_, metrics_, nullptr); });
    await(round + 1);
  }
  /// From here on the others may go.
  void stop() { over_ = true; }
  const Floats& result() const { return result_; }
  std::uint64_t frames() const { return frames_; }

 private:
  void await(std::uint64_t rounds) {
    for (auto seen = rounds_.load(); seen < rounds; seen = rounds_.load()) rounds_.wait(seen);
  }
  void ended(const std::string& reason) {
    if (over_) return;
    ADD_FAILURE() << reason;
    rounds_ = ~std::uint64_t{0};
    rounds_.notify_all();
  }

  const std::uint32_t self_;
  const bool sparse_;
  Floats gradient_, result_;
  RoundHeader header_;
  const std::vector<ShardMetrics> metrics_{{self_, 0, 0.5, 0, 1}};
  const std::vector<NodeValue> sums_{{kMembers + self_, gradient_.data()}};
  std::unique_ptr<Transport> transport_;
  std::string address_;
  std::uint64_t hash_ = 0, frames_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ProgressThread> thread_;
};

struct Taken {
  std::vector<std::size_t> pieces;  ///< by all members, in each stretch of rounds, until one takes none
  std::uint64_t frames = 0;         ///< that a member sent in the last round
};

/// Runs stretches of rounds until one takes nothing: what waits for others is held in buffers, whose number
/// grows to the most that was ever needed at once.
Taken taken_by(std::size_t elements, bool sparse = false) {
  constexpr std::uint64_t kStretch = 100, kStretches = 12;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::string> addresses;
  for (std::uint32_t m = 0; m < kMembers; ++m) {
    members.push_back(std::make_unique<Member>(m, elements, sparse));
    addresses.push_back(members.back()->address());
  }
  Taken taken;
  std::unique_ptr<AllocationWatch> watch;
  bool over = false;
  taken.pieces.reserve(kStretches);
  const auto turn = [&]() noexcept {
    if (watch) taken.pieces.push_back(watch->count());
    over = taken.pieces.size() == kStretches || (!taken.pieces.empty() && taken.pieces.back() == 0);
    watch.reset();
    if (!over) watch = std::make_unique<AllocationWatch>();
  };
  std::barrier between(kMembers, turn);
  std::vector<std::thread> threads;
  for (auto& member : members) {
    threads.emplace_back([&] {
      member->install(addresses);
      std::uint64_t round = 1;
      for (;;) {
        for (const std::uint64_t end = round + kStretch; round < end; ++round) member->step(round);
        between.arrive_and_wait();
        if (over) return;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& member : members) member->stop();
  for (const auto& member : members) {
    taken.frames = member->frames();
    EXPECT_EQ(member->result().front(), 1.0F);
    EXPECT_EQ(member->result().back(), 1.0F);
  }
  return taken;
}

void expect_nothing(bool sparse = false) {
  for (const std::size_t elements : {1'000u, 4'000'000u}) {
    const Taken taken = taken_by(elements, sparse);
    EXPECT_EQ(taken.pieces.back(), 0) << elements << " elements";
    std::printf("%zu elements: nothing in the last of %zu stretches\n", elements, taken.pieces.size());
  }
}

TEST(Allocation, OfASteadyRoundIsNone) {
  expect_nothing();
}

TEST(Allocation, OverTcpTheSame) {
  ::setenv("UCX_TLS", "tcp", 1);
  expect_nothing();
  ::unsetenv("UCX_TLS");
}

// The members say that they are on different hosts, wherever they are.
TEST(Allocation, OfSparseSumsTheSame) {
  expect_nothing(true);
}

// On whatever thread.
TEST(Allocation, IsCounted) {
  const AllocationWatch watch;
  std::thread([] { const std::vector<int> something(10); }).join();
  EXPECT_GE(watch.count(), 1);
  EXPECT_GE(watch.bytes(), 10 * sizeof(int));
}

// A header and the losses to each other member; the rest is sums and results, one message each way here.
TEST(Allocation, ControlMessagesOfAStepAreTwoToEachOtherMember) {
  EXPECT_EQ(taken_by(1'000).frames, 2 * (kMembers - 1) + 2);
}

}  // namespace
