// What a steady round allocates, from the gradient's hand-in to the record in hand: on the threads that move
// it and on those that drive. The sums and the result take nothing, however large; the words of the round
// (headers, losses, the record) take a bounded number of small pieces.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "muster/transport/collective/engine.hpp"
#include "muster/transport/lendable.hpp"
#include "muster/transport/node_transport.hpp"
#include "muster/transport/progress/progress_thread.hpp"
#include "tests/unit/allocation/counted_new.hpp"

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
    hooks.round_done = [this](RoundRecord record) {
      hash_ = record.hash;
      frames_ = record.sent.within_host.frames;
      ++rounds_;
      rounds_.notify_all();
    };
    hooks.reduction_failed = [this](const std::string& reason) { ended(reason); };
    hooks.peer_failed = [this](PeerId, const std::string& reason) { ended(reason); };
    hooks.refused = [this](const std::string& reason) { ended(reason); };
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
    RoundHeader header;
    header.round = round;
    header.epoch = 1;
    header.step = round;
    header.applied = round - 1;
    header.record_hash = hash_;
    header.shards.push_back({self_, 0, 1, 0, round, 1, 1.0});
    thread_->run([&] { engine_->reduction()->open(header, result_); });
    const ShardMetrics metrics{self_, 0, 0.5, 0, 1};
    const NodeValue sum{kMembers + self_, gradient_.data()};
    thread_->drive([&] { engine_->reduction()->contribute(round, {sum}, {metrics}, nullptr); });
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
  std::unique_ptr<Transport> transport_;
  std::string address_;
  std::uint64_t hash_ = 0, frames_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ProgressThread> thread_;
};

struct Taken {
  double pieces = 0, bytes = 0;  ///< a round and member
  std::uint64_t frames = 0;      ///< that a member sent in the last round
};

Taken taken_by(std::size_t elements, bool sparse = false) {
  constexpr std::uint64_t kWarm = 30, kCounted = 100;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::string> addresses;
  for (std::uint32_t m = 0; m < kMembers; ++m) {
    members.push_back(std::make_unique<Member>(m, elements, sparse));
    addresses.push_back(members.back()->address());
  }
  std::unique_ptr<AllocationWatch> watch;
  std::atomic<std::uint32_t> at_the_start{0};
  Taken taken;
  std::vector<std::thread> threads;
  for (auto& member : members) {
    threads.emplace_back([&, first = member == members.front()] {
      member->install(addresses);
      std::uint64_t round = 1;
      for (; round <= kWarm; ++round) member->step(round);
      if (first) watch = std::make_unique<AllocationWatch>();
      ++at_the_start;
      while (at_the_start < kMembers) std::this_thread::yield();
      for (; round <= kWarm + kCounted; ++round) member->step(round);
    });
  }
  for (auto& thread : threads) thread.join();
  taken.pieces = static_cast<double>(watch->count()) / (kCounted * kMembers);
  taken.bytes = static_cast<double>(watch->bytes()) / (kCounted * kMembers);
  for (const auto& member : members) member->stop();
  for (const auto& member : members) {
    taken.frames = member->frames();
    EXPECT_EQ(member->result().front(), 1.0F);
    EXPECT_EQ(member->result().back(), 1.0F);
  }
  return taken;
}

// The words of a round: so many small pieces a member, whatever is summed up.
constexpr double kPiecesMax = 16, kBytesMax = 1024;

void expect_no_more_than_words(bool sparse = false) {
  for (const std::size_t elements : {1'000u, 4'000'000u}) {
    const Taken taken = taken_by(elements, sparse);
    std::printf("a round of %zu elements takes %.1f pieces a member, of %.0f bytes together\n", elements,
                taken.pieces, taken.bytes);
    EXPECT_LE(taken.pieces, kPiecesMax) << elements;
    EXPECT_LE(taken.bytes, kBytesMax) << elements;
    EXPECT_GT(taken.pieces, 1) << "nothing was counted";
  }
}

TEST(Allocation, OfASteadyRoundIsThatOfItsWords) {
  expect_no_more_than_words();
}

TEST(Allocation, OverTcpTheSame) {
  ::setenv("UCX_TLS", "tcp", 1);
  expect_no_more_than_words();
  ::unsetenv("UCX_TLS");
}

// The members say that they are on different hosts, wherever they are.
TEST(Allocation, OfSparseSumsTheSame) {
  expect_no_more_than_words(true);
}

// A header and the losses to each other member; the rest is sums and results, one message each way here.
TEST(Allocation, ControlMessagesOfAStepAreTwoToEachOtherMember) {
  EXPECT_EQ(taken_by(1'000).frames, 2 * (kMembers - 1) + 2);
}

}  // namespace
