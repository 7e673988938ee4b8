// Borrowed buffers of the simulated network: as shared memory gives them, and taken back at the worst moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/simulated/network.hpp"

namespace muster::simulated_borrowing_test {
namespace {

using namespace muster;
using muster::testing::EventQueue;
using muster::testing::frame_of;
using muster::testing::pattern;

constexpr PeerId kA = 1;
constexpr PeerId kB = 2;
constexpr std::size_t kBytes = 1000;

class Borrower final : public FrameSink {
 public:
  std::span<std::byte> place(const Frame& frame) override {
    copy.resize(frame.bytes);
    return copy;
  }
  bool arrived_in_place(const Frame&, std::span<const std::byte> payload, BorrowedBuffer on) override {
    if (borrows) memory = payload, borrow = on;
    return borrows;
  }
  void arrived(const Frame&, std::span<std::byte>) override { ++copies; }
  void dropped(const Frame&) override {}
  void sent(PeerId, SendToken, bool ok) override { ++(ok ? done : failed); }
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string&) override {}

  bool borrows = true;
  std::span<const std::byte> memory;
  std::optional<BorrowedBuffer> borrow;
  std::vector<std::byte> copy;
  int copies = 0, done = 0, failed = 0;
};

class SimulatedBorrowing : public ::testing::Test {
 protected:
  SimulatedBorrowing() {
    a_->set_sink(&owner_);
    b_->set_sink(&borrower_);
    a_->connect(kB, b_->address());
    b_->connect(kA, a_->address());
  }
  static SimulatedNetworkOptions options() {
    SimulatedNetworkOptions options;
    options.at_once_bytes = 100;
    options.supports_borrowing = true;
    return options;
  }
  void send() {
    a_->send(kB, frame_of(kA, 1, kBytes), sent_, 1);
    run();
  }
  void run() {
    while (queue_.step()) {
    }
  }
  bool is_what_was_sent() const { return std::ranges::equal(borrower_.memory, sent_); }

  EventQueue queue_;
  SimulatedNetwork network_{queue_.handle(), 5, options()};
  std::vector<std::byte> sent_ = pattern(1, kBytes);
  Borrower owner_, borrower_;
  std::unique_ptr<Transport> a_ = network_.attach("a"), b_ = network_.attach("b");
};

TEST_F(SimulatedBorrowing, TheSenderHasItsBufferBackWhenItIsGivenBack) {
  send();
  ASSERT_TRUE(borrower_.borrow);
  EXPECT_TRUE(is_what_was_sent());
  EXPECT_TRUE(b_->stands(*borrower_.borrow));
  EXPECT_EQ(owner_.done, 0);
  b_->give_back(*borrower_.borrow);
  run();
  EXPECT_EQ(owner_.done, 1);
  EXPECT_EQ(network_.counts().borrowed, 1u);
}

TEST_F(SimulatedBorrowing, WhoLetsGoOfTheConnectionUsesItsMemoryForOtherThings) {
  send();
  ASSERT_TRUE(borrower_.borrow);
  a_->disconnect(kB);
  EXPECT_FALSE(b_->stands(*borrower_.borrow));
  EXPECT_FALSE(is_what_was_sent());
  EXPECT_EQ(borrower_.memory.size(), kBytes) << "and may be read all the same";
  b_->give_back(*borrower_.borrow);
  run();
  EXPECT_EQ(owner_.failed, 1);
  EXPECT_EQ(owner_.done, 0);
  EXPECT_EQ(network_.counts().revoked, 1u);
}

TEST_F(SimulatedBorrowing, OfADeadSenderTheMemoryStays) {
  send();
  ASSERT_TRUE(borrower_.borrow);
  network_.cut("a");
  run();
  EXPECT_TRUE(b_->stands(*borrower_.borrow));
  EXPECT_TRUE(is_what_was_sent());
  b_->give_back(*borrower_.borrow);
}

// The report of it is under way when its sender lets go: a buffer borrowed from then on is revoked, a copy
// was made in time.
TEST_F(SimulatedBorrowing, AfterItsSenderLetGoItIsRevokedOrWasCopied) {
  for (const bool borrows : {true, false}) {
    borrower_.borrows = borrows;
    borrower_.borrow.reset();
    a_->send(kB, frame_of(kA, 1, kBytes), sent_, 1);
    a_->disconnect(kB);
    run();
    if (borrower_.borrow) {
      EXPECT_FALSE(b_->stands(*borrower_.borrow));
      b_->give_back(*borrower_.borrow);
    }
    if (borrower_.copies > 0) {
      EXPECT_TRUE(std::ranges::equal(borrower_.copy, sent_));
    }
    EXPECT_TRUE(borrower_.borrow || borrower_.copies > 0);
    b_->disconnect(kA);
    a_->connect(kB, b_->address());
    b_->connect(kA, a_->address());
  }
}

TEST_F(SimulatedBorrowing, WhatIsNotTakenIsCopied) {
  borrower_.borrows = false;
  send();
  EXPECT_EQ(borrower_.copies, 1);
  EXPECT_TRUE(std::ranges::equal(borrower_.copy, sent_));
  EXPECT_EQ(owner_.done, 1);
  EXPECT_EQ(network_.counts().borrowed, 0u);
}

}  // namespace
}  // namespace muster::simulated_borrowing_test
