// Payloads that are read where their sender has them, and what becomes of them when somebody ends.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <functional>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/borrowable.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/connection.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"

namespace {

using namespace muster;
using muster::testing::frame_of;
using muster::testing::pattern;

constexpr PeerId kA = 10;
constexpr PeerId kB = 20;
constexpr std::size_t kFloats = 100'000;

/// Keeps what it borrows, or takes copies.
class Borrower final : public FrameSink {
 public:
  struct AuditShardReply {
    Frame frame;
    std::span<const std::byte> payload;
    BorrowedBuffer borrow;
  };
  std::span<std::byte> place(const Frame& frame) override {
    copies.emplace_back(frame.bytes);
    if (before_copy) before_copy();
    return copies.back();
  }
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload,
                        BorrowedBuffer borrow) override {
    ++offered;
    if (borrows) borrowed.push_back({frame, payload, borrow});
    return borrows;
  }
  void arrived(const Frame&, std::span<std::byte>) override { ++whole; }
  void dropped(const Frame&) override { ++thrown_away; }
  void sent(PeerId, SendToken token, bool ok) override { (ok ? done : failed).push_back(token); }
  void peer_failed(PeerId, const std::string&) override { ++failures; }
  void refused(const std::string& why) override { refusals.push_back(why); }

  bool borrows = true;
  std::function<void()> before_copy;  ///< between the place for a copy and the copy
  std::deque<AuditShardReply> borrowed;
  std::deque<std::vector<std::byte>> copies;
  std::vector<SendToken> done, failed;
  std::vector<std::string> refusals;
  std::size_t offered = 0, whole = 0, failures = 0, thrown_away = 0;
};

struct Side {
  Borrower sink;
  std::unique_ptr<Transport> transport = make_shared_memory_transport();
  Side() { transport->set_sink(&sink); }
};

class Borrowing : public ::testing::Test {
 protected:
  Borrowing() {
    a_->transport->connect(kB, b_->transport->address());
    b_->transport->connect(kA, a_->transport->address());
    settle();  // both have heard of each other
  }
  void settle() {
    for (int turn = 0; turn < 2000; ++turn) {
      if (a_ != nullptr) a_->transport->progress();
      if (b_ != nullptr) b_->transport->progress();
    }
  }
  void send(SendToken token, std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    a_->transport->send(kB, frame_of(kA, token, bytes.size()), bytes, token);
    settle();
  }
  static Floats values(float first, std::size_t count = kFloats) {
    Floats made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = first + static_cast<float>(i);
    return made;
  }
  static bool same(std::span<const std::byte> payload, const Floats& expected) {
    return payload.size() == expected.size() * sizeof(float) &&
           std::memcmp(payload.data(), expected.data(), payload.size()) == 0;
  }
  static std::size_t mapped_buffers() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("muster-buffer") != std::string::npos;
    return count;
  }

  std::unique_ptr<Side> a_ = std::make_unique<Side>();
  std::unique_ptr<Side> b_ = std::make_unique<Side>();
};

TEST_F(Borrowing, IsReadInPlaceAndEndsWhenItIsGivenBack) {
  const Floats first = values(1), second = values(2);
  send(1, first);
  send(2, std::span(second).subspan(16, kFloats - 16));
  ASSERT_EQ(b_->sink.borrowed.size(), 2u);
  EXPECT_TRUE(same(b_->sink.borrowed[0].payload, first));
  EXPECT_TRUE(b_->sink.copies.empty());
  EXPECT_TRUE(a_->sink.done.empty()) << "it is still being read";
  b_->transport->give_back(b_->sink.borrowed[1].borrow);
  settle();
  EXPECT_TRUE(a_->sink.done.empty()) << "ends are told in order";
  b_->transport->give_back(b_->sink.borrowed[0].borrow);
  settle();
  EXPECT_EQ(a_->sink.done, (std::vector<SendToken>{1, 2}));
}

TEST_F(Borrowing, WhoeverDoesNotBorrowGetsACopy) {
  const Floats floats = values(3);
  b_->sink.borrows = false;
  send(1, floats);
  EXPECT_EQ(b_->sink.offered, 1u);
  ASSERT_EQ(b_->sink.whole, 1u);
  EXPECT_TRUE(same(b_->sink.copies.front(), floats));
  EXPECT_EQ(a_->sink.done, std::vector<SendToken>{1});
}

TEST_F(Borrowing, SmallOrOrdinaryMemoryIsCopied) {
  const Floats small = values(1, 100);
  const std::vector<float> ordinary(kFloats, 5.0f);
  send(1, small);
  send(2, ordinary);
  EXPECT_EQ(b_->sink.offered, 0u);
  EXPECT_EQ(b_->sink.whole, 2u);
  EXPECT_EQ(a_->sink.done.size(), 2u);
}

TEST_F(Borrowing, MayBeReadWhenTheOwnerIsGone) {
  auto floats = std::make_unique<Floats>(values(7));
  const Floats expected = *floats;
  send(1, *floats);
  ASSERT_EQ(b_->sink.borrowed.size(), 1u);
  a_.reset();
  floats.reset();
  settle();
  EXPECT_EQ(b_->sink.failures, 1u);
  EXPECT_TRUE(same(b_->sink.borrowed[0].payload, expected));
  b_->transport->give_back(b_->sink.borrowed[0].borrow);
}

TEST_F(Borrowing, EndsForTheOwnerWhenItLetsGo) {
  const Floats floats = values(1);
  send(1, floats);
  a_->transport->disconnect(kB);
  settle();
  EXPECT_EQ(a_->sink.failed, std::vector<SendToken>{1});
  ASSERT_EQ(b_->sink.borrowed.size(), 1u);
  b_->transport->give_back(b_->sink.borrowed[0].borrow);  // of no use to anybody, but allowed
  settle();
  EXPECT_EQ(a_->sink.failed.size() + a_->sink.done.size(), 1u);
}

// The owner lets go of the borrower, which it takes for dead, and computes the next gradient in the same
// memory, while the borrower still reads.
TEST_F(Borrowing, ABufferThatWasRevokedWhileItWasReadDoesNotStand) {
  Floats floats = values(1);
  send(1, floats);
  ASSERT_EQ(b_->sink.borrowed.size(), 1u);
  const auto& borrowed = b_->sink.borrowed.front();
  EXPECT_TRUE(b_->transport->stands(borrowed.borrow));
  a_->transport->disconnect(kB);
  floats[kFloats / 2] = -1;
  EXPECT_NE(reinterpret_cast<const float*>(borrowed.payload.data())[kFloats / 2],
            1 + static_cast<float>(kFloats / 2));
  EXPECT_FALSE(b_->transport->stands(borrowed.borrow));
  b_->transport->give_back(borrowed.borrow);
}

TEST_F(Borrowing, ACopyOfMemoryThatWasRevokedBeforeItsEndIsThrownAway) {
  Floats floats = values(1);
  b_->sink.borrows = false;
  b_->sink.before_copy = [&] {
    a_->transport->disconnect(kB);
    floats[kFloats / 2] = -1;
  };
  send(1, floats);
  EXPECT_EQ(b_->sink.copies.size(), 1u);
  EXPECT_EQ(b_->sink.whole, 0u);
  EXPECT_EQ(b_->sink.thrown_away, 1u);
  EXPECT_EQ(b_->sink.failures, 1u) << "the connection has ended";
}

TEST_F(Borrowing, ABufferOfAProcessThatWasCutOffByTheOtherSideDoesNotStand) {
  const Floats floats = values(1);
  send(1, floats);
  ASSERT_EQ(b_->sink.borrowed.size(), 1u);
  a_.reset();
  EXPECT_FALSE(b_->transport->stands(b_->sink.borrowed.front().borrow));
  b_->transport->give_back(b_->sink.borrowed.front().borrow);
}

TEST_F(Borrowing, EndsForTheOwnerWhenTheBorrowerIsGone) {
  const Floats floats = values(1);
  send(1, floats);
  b_.reset();
  settle();
  EXPECT_EQ(a_->sink.failures, 1u);
  EXPECT_EQ(a_->sink.failed, std::vector<SendToken>{1});
}

TEST_F(Borrowing, MemoryThatWasFreedIsUnmappedByItsReaders) {
  b_->sink.borrows = false;
  const std::size_t before = mapped_buffers();
  {
    const Floats floats = values(1);
    send(1, floats);
    EXPECT_EQ(mapped_buffers(), before + 2) << "in this process both sides have it";
  }
  settle();
  EXPECT_EQ(mapped_buffers(), before);
}

TEST_F(Borrowing, IsReadOnlyToOthers) {
  const Floats floats = values(1);
  const auto place = shm::segment_of(std::as_bytes(std::span(floats)));
  ASSERT_TRUE(place);
  EXPECT_FALSE(shm::Mapping(place->descriptor, place->bytes, PROT_READ | PROT_WRITE).good());
  EXPECT_TRUE(shm::Mapping(place->descriptor, place->bytes, PROT_READ).good());
}

// A process has only so many file descriptors.
TEST(BorrowableMemory, IsOrdinaryBeyondABound) {
  std::vector<Floats> many;
  std::size_t borrowable = 0;
  for (int i = 0; i < 400; ++i) {
    many.emplace_back(kBorrowableBytesMin / sizeof(float), static_cast<float>(i));
    borrowable += shm::segment_of(std::as_bytes(std::span(many.back()))) ? 1 : 0;
  }
  EXPECT_EQ(borrowable, 256u);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].back(), static_cast<float>(i));
}

// ---- strangers

class BorrowingStrangers : public ::testing::TestWithParam<shm::Reference> {};

shm::Reference reference(std::uint64_t segment, std::uint64_t offset, std::uint64_t number) {
  shm::Reference made;
  made.segment = segment;
  made.offset = offset;
  made.number = number;
  return made;
}

// Segment 1 of the stranger is as large as the payload.
TEST_P(BorrowingStrangers, WhoOffersWhatCannotBeIsRefused) {
  Side side;
  shm::Descriptor stranger;
  ASSERT_EQ(shm::dial(shm::open_address(side.transport->address()).name, stranger), shm::Dialed::yes);
  const Floats values(kFloats);
  const auto place = shm::segment_of(std::as_bytes(std::span(values)));
  ASSERT_TRUE(place);
  shm::Outbox box;
  shm::Hello hello;
  hello.stream = 5;
  hello.capacity = box.capacity();
  ASSERT_TRUE(shm::send_hello(stranger, hello, box.descriptor()));
  shm::Handed handed;
  handed.segment = 1;
  handed.bytes = place->bytes;
  ASSERT_TRUE(shm::send_segment(stranger, handed, place->descriptor));
  Frame frame = checked(frame_of(kA, 1, kFloats * sizeof(float)));
  frame.magic = shm::kBorrowedMagic;
  const shm::Reference said = GetParam();
  box.put(std::as_bytes(std::span(&frame, 1)), false);
  box.put(std::as_bytes(std::span(&said, 1)), false);
  box.publish();
  for (int turn = 0; turn < 2000; ++turn) side.transport->progress();
  const bool right = said.segment == 1 && said.offset == 0 && said.number == 1;
  EXPECT_EQ(side.sink.refusals.size(), right ? 0u : 1u);
  EXPECT_EQ(side.sink.offered, right ? 1u : 0u);
  for (const auto& borrowed : side.sink.borrowed) side.transport->give_back(borrowed.borrow);
}

INSTANTIATE_TEST_SUITE_P(, BorrowingStrangers,
                         ::testing::Values(reference(1, 0, 1), reference(2, 0, 1), reference(1, 64, 1),
                                           reference(1, ~std::uint64_t{63}, 1), reference(1, 0, 2),
                                           reference(1, 0, 0), reference(1, 2, 1)));

}  // namespace
