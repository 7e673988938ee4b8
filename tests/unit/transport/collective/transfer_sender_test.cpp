// A state and records from one engine to another, in pieces, over a simulated network.
#include <gtest/gtest.h>

#include "tests/unit/transport/repeating_transport.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/collective/engine.hpp"

namespace {

using namespace muster;
using muster::testing::EventQueue;
using muster::testing::pattern;
using muster::testing::RepeatingTransport;

constexpr PeerId kDonor = 0;
constexpr PeerId kNewcomer = 1;
constexpr TransferOptions kOptions{0.1, 1000, 100};

std::shared_ptr<const TransferPayload> transfer_of(std::vector<std::byte> bytes) {
  auto transfer = std::make_shared<TransferPayload>();
  transfer->add(std::move(bytes));
  return transfer;
}

// A piece with another check, or an answer for a piece of another kind.
Frame damaged(Frame frame) {
  if (frame.kind == FrameKind::received) {
    auto answer = ReceivedBody::from(frame);
    answer.of = static_cast<FrameKind>(static_cast<unsigned>(answer.of) ^ 1);
    answer.put_into(frame);
  } else {
    auto piece = PieceBody::from(frame);
    piece.check ^= 1;
    piece.put_into(frame);
  }
  return frame;
}

// Passes everything on, but damages one piece, and counts what is on its way.
class Between final : public Transport {
 public:
  Between(Transport& below, FrameKind kind) : below_(below), kind_(kind) {}
  std::string address() const override { return below_.address(); }
  std::string describe() const override { return below_.describe(); }
  void set_sink(FrameSink* sink) override { below_.set_sink(sink); }
  void connect(PeerId peer, const std::string& address) override { below_.connect(peer, address); }
  void disconnect(PeerId peer) override { below_.disconnect(peer); }
  bool progress() override { return below_.progress(); }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    if (frame.kind == kind_) ++sent;
    const bool damages_this = frame.kind == kind_ && sent == damages;
    below_.send(peer, damages_this ? damaged(frame) : frame, payload, token);
  }

  std::size_t sent = 0;
  std::size_t damages = 0;

 private:
  Transport& below_;
  FrameKind kind_;
};

struct Side {
  std::unique_ptr<Transport> network;
  std::unique_ptr<Between> transport;
  std::unique_ptr<Engine> engine;
  std::vector<std::pair<Frame, std::vector<std::byte>>> handed;
  std::vector<std::string> refusals;
  std::vector<std::string> failures;
  std::vector<Given> gave;
};

struct Pair {
  explicit Pair(bool repeats = false) : network(queue.handle(), 9) {
    for (Side* side : {&donor, &newcomer}) {
      side->network = network.attach(side == &donor ? "donor" : "newcomer");
      if (repeats) side->network = std::make_unique<RepeatingTransport>(std::move(side->network));
      side->transport =
          std::make_unique<Between>(*side->network, side == &donor ? FrameKind::state : FrameKind::received);
      Engine::Hooks hooks;
      hooks.peer_failed = [side](std::uint32_t, PeerId, const std::string& reason) {
        side->failures.push_back(reason);
      };
      hooks.refused = [side](const std::string& reason) { side->refusals.push_back(reason); };
      hooks.transferred = [side](const Frame& frame, std::vector<std::byte> bytes) {
        side->handed.emplace_back(frame, std::move(bytes));
      };
      hooks.gave = [side](PeerId, const Given& given) { side->gave.push_back(given); };
      hooks.now = [this] { return queue.now(); };
      side->engine = std::make_unique<Engine>(*side->transport, std::move(hooks), kOptions);
    }
    donor.engine->install(1, kDonor, 10, {}, nullptr, kBounds);
    newcomer.engine->install(1, kNewcomer, 11, {{kDonor, 10, donor.network->address()}}, nullptr, kBounds);
    donor.engine->accept({kNewcomer, 11, newcomer.network->address()});
  }
  ~Pair() {
    donor.network.reset();
    newcomer.network.reset();
  }
  void run() {
    while (queue.step()) {
    }
  }

  static constexpr Engine::Bounds kBounds{0, 5000, 50'000};
  EventQueue queue;
  SimulatedNetwork network;
  Side donor, newcomer;
};

TEST(TransferSender, AStateAndRecordsArriveWhole) {
  Pair pair;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  for (std::uint64_t number = 8; number < 20; ++number)
    pair.donor.engine->transfer_state(kNewcomer, FrameKind::record, number,
                                      transfer_of(pattern(number, 4321)));
  EXPECT_LE(pair.donor.engine->batches_in_flight(), kPiecesInFlight);
  pair.run();
  ASSERT_EQ(pair.newcomer.handed.size(), 13u);
  for (const auto& [frame, bytes] : pair.newcomer.handed) {
    const bool state = frame.kind == FrameKind::state;
    const auto piece = PieceBody::from(frame);
    EXPECT_EQ(bytes, pattern(state ? 1 : piece.number, state ? 50'000 : 4321)) << piece.number;
    EXPECT_EQ(piece.number == 19, piece.waiting == 0) << "what waits behind it is said with each";
  }
  EXPECT_EQ(pair.donor.transport->sent, 50u);
  EXPECT_EQ(pair.newcomer.transport->sent, 50u + 12 * 5);
  EXPECT_EQ(pair.donor.engine->batches_in_flight(), 0u);
}

TEST(TransferSender, AStateThatIsHashedForLongIsNoFurtherStep) {
  Pair pair;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::record, 8, transfer_of(pattern(8, 4321)));
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  pair.run();
  ASSERT_EQ(pair.newcomer.handed.size(), 2u);
  for (const auto& [frame, bytes] : pair.newcomer.handed)
    EXPECT_EQ(PieceBody::from(frame).waiting, 0u)
        << "nothing follows record 8, whatever comes last: " << PieceBody::from(frame).number;
}

TEST(TransferSender, WhatComesTwiceIsTransferredOnce) {
  Pair pair(true);
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  for (std::uint64_t number = 8; number < 8 + 2 * Intake::kTransfersMax; ++number)
    pair.donor.engine->transfer_state(kNewcomer, FrameKind::record, number,
                                      transfer_of(pattern(number, 4321)));
  pair.run();
  EXPECT_EQ(pair.newcomer.handed.size(), 1 + 2 * Intake::kTransfersMax);
  EXPECT_TRUE(pair.newcomer.refusals.empty()) << pair.newcomer.refusals.front();
  EXPECT_TRUE(pair.newcomer.failures.empty());
}

TEST(TransferSender, IsToldWhenTheNewcomerIsAMember) {
  Pair pair;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  pair.run();
  pair.donor.engine->install(2, kDonor, 10, {{kNewcomer, 11, pair.newcomer.network->address()}}, nullptr,
                             Pair::kBounds);
  ASSERT_EQ(pair.donor.gave.size(), 1u);
  const Given& given = pair.donor.gave[0];
  EXPECT_EQ(given.bytes, 50'000u);
  EXPECT_GT(given.took.count(), 0);
  EXPECT_GT(given.busy.count(), 0);
  EXPECT_LE(given.busy, given.took);
}

TEST(TransferSender, APieceThatWasDamagedOnTheWayIsRefusedAndTheDonorNamed) {
  Pair pair;
  pair.donor.transport->damages = 17;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  pair.run();
  EXPECT_TRUE(pair.newcomer.handed.empty());
  ASSERT_FALSE(pair.newcomer.refusals.empty());
  EXPECT_NE(pair.newcomer.refusals[0].find("are not as they were sent"), std::string::npos);
  EXPECT_EQ(pair.newcomer.failures.size(), 1u);
}

TEST(TransferSender, MoreThanTheJobHasIsRefusedAndTheDonorNamed) {
  Pair pair;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'001)));
  pair.run();
  EXPECT_TRUE(pair.newcomer.handed.empty());
  ASSERT_FALSE(pair.newcomer.refusals.empty());
  EXPECT_NE(pair.newcomer.refusals[0].find("at most 50000 bytes were agreed"), std::string::npos);
  EXPECT_EQ(pair.newcomer.failures.size(), 1u);
}

TEST(TransferSender, OfOneWhoIsGoneNothingIsKept) {
  Pair pair;
  const auto state = transfer_of(pattern(1, 50'000));
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, state);
  EXPECT_EQ(state.use_count(), 2);
  pair.donor.engine->disconnect(kNewcomer);
  EXPECT_EQ(state.use_count(), 1);
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, state);
  EXPECT_EQ(state.use_count(), 1);
  pair.run();
  EXPECT_EQ(pair.donor.engine->batches_in_flight(), 0u);
}

TEST(TransferSender, ADonorThatVanishesHalfWayIsNamedAndAnotherBeginsAnew) {
  Pair pair;
  pair.donor.engine->transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  while (pair.newcomer.transport->sent < 20 && pair.queue.step()) {
  }
  pair.network.cut("donor");
  pair.run();
  EXPECT_TRUE(pair.newcomer.handed.empty());
  EXPECT_EQ(pair.newcomer.failures.size(), 1u);
  const auto other = pair.network.attach("other");
  Between between(*other, FrameKind::state);
  Engine engine(between, {}, kOptions);
  pair.newcomer.engine->install(2, kNewcomer, 11, {{2, 12, other->address()}}, nullptr, Pair::kBounds);
  engine.install(2, 2, 12, {}, nullptr, Pair::kBounds);
  engine.accept({kNewcomer, 11, pair.newcomer.network->address()});
  engine.transfer_state(kNewcomer, FrameKind::state, 7, transfer_of(pattern(1, 50'000)));
  pair.run();
  ASSERT_EQ(pair.newcomer.handed.size(), 1u);
  EXPECT_EQ(pair.newcomer.handed[0].second, pattern(1, 50'000));
}

// ---- the giving side alone

struct Sent {
  PeerId to = 0;
  Frame frame;
};

struct Giver {
  Giver() {
    transfer_sender.enter(2 * kPiecesInFlight);
    transfer_sender.newcomer(1);
    transfer_sender.newcomer(2);
  }
  void give(PeerId to, std::uint64_t number, std::size_t bytes) {
    transfer_sender.give(to, FrameKind::record, number, transfer_of(std::vector<std::byte>(bytes)), sight.now,
                         sight.step);
  }
  // All that is on its way arrives.
  void arrive() {
    for (const Sent& piece : std::exchange(sent, {})) {
      const auto body = PieceBody::from(piece.frame);
      const ReceivedBody answer{body.of, body.number, body.first_byte};
      transfer_sender.arrived(piece.to, answer, sight.now);
      transfer_sender.arrived(piece.to, answer, sight.now);  // of no effect
    }
  }

  std::vector<Sent> sent;
  TransferSender transfer_sender{kOptions, [this](PeerId to, const Frame& frame, std::vector<std::byte>) {
                                   sent.push_back({to, frame});
                                 }};
  TransferPace::Sight sight;
};

TEST(TransferSender, NewcomersTakeTurns) {
  Giver giver;
  giver.sight.steps_run = false;
  giver.give(1, 1, 10'000);
  giver.give(2, 1, 10'000);
  giver.transfer_sender.pump(giver.sight);
  ASSERT_EQ(giver.sent.size(), 2 * kPiecesInFlight);
  for (std::size_t i = 0; i < giver.sent.size(); ++i) EXPECT_EQ(giver.sent[i].to, 1 + i % 2);
}

TEST(TransferSender, ANewcomerThatFallsBehindIsHurriedUntilNothingWaits) {
  Giver giver;
  giver.sight.step = std::chrono::milliseconds(10);
  for (std::uint64_t number = 1; number <= kPiecesInFlight; ++number) giver.give(1, number, 1000);
  giver.transfer_sender.pump(giver.sight);
  EXPECT_EQ(giver.sent.size(), 1u) << "as the share allows";
  giver.give(1, 100, 1000);
  giver.transfer_sender.pump(giver.sight);
  EXPECT_EQ(giver.sent.size(), kPiecesInFlight) << "half of what may wait has come";
  giver.sight.now += std::chrono::seconds(1);
  giver.arrive();
  giver.transfer_sender.pump(giver.sight);
  EXPECT_EQ(giver.sent.size(), 1u) << "the last";
  giver.arrive();
  for (std::uint64_t number = 101; number <= 104; ++number) giver.give(1, number, 1000);
  giver.transfer_sender.pump(giver.sight);
  EXPECT_TRUE(giver.sent.empty()) << "what it took is paid for now";
}

TEST(TransferSender, AMemberThatIsWaitedForIsGivenEverythingAtOnce) {
  Giver giver;
  giver.sight.round_sends = true;
  giver.give(5, 1, 10'000);
  giver.transfer_sender.pump(giver.sight);
  EXPECT_EQ(giver.sent.size(), kPiecesInFlight);
  EXPECT_FALSE(giver.transfer_sender.given(5, giver.sight.now));
}

TEST(TransferSender, StepsMeanwhileAreMeasured) {
  Giver giver;
  giver.sight.step = std::chrono::milliseconds(20);
  giver.transfer_sender.round_over(true, giver.sight.now);
  giver.sight.now += std::chrono::milliseconds(5);
  giver.give(1, 1, 10'000);
  for (int step = 0; step < 5; ++step) {
    giver.transfer_sender.round_over(step > 0, giver.sight.now);
    giver.sight.now += std::chrono::milliseconds(30);
  }
  const auto given = giver.transfer_sender.given(1, giver.sight.now);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->step_before, std::chrono::milliseconds(20));
  EXPECT_EQ(given->step_meanwhile, std::chrono::milliseconds(30));
  EXPECT_EQ(given->took, std::chrono::milliseconds(150));
}

TEST(TransferSender, TheWindowFollowsTheSizeOfARecord) {
  EXPECT_EQ(transfer_window(0), kTransferWindowMax);
  EXPECT_EQ(transfer_window(1000), kTransferWindowMax);
  EXPECT_EQ(transfer_window(std::uint64_t{1} << 20), 256u);
  EXPECT_EQ(transfer_window(std::uint64_t{5} << 32), 8u);
}

}  // namespace
