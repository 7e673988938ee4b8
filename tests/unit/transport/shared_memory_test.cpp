// What is particular to the transport over shared memory: the ring, and what strangers and the dead can do to
// it.
#include "transport/shared_memory/shared_memory_transport.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "muster/error.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/outbox.hpp"
#include "transport/shared_memory/sockets.hpp"

namespace {

using namespace muster;
using muster::testing::pattern;
using muster::testing::WorldNode;
using shm::Descriptor;
using shm::Inbox;
using shm::Outbox;

constexpr PeerId kA = 10;
constexpr PeerId kB = 20;

Descriptor copy_of(int descriptor) {
  return Descriptor(::dup(descriptor));
}

// ---- the ring

TEST(SharedMemoryRing, BytesComeOutInOrderOverManyTurns) {
  Outbox out(1024);
  Inbox in(copy_of(out.descriptor()), 1024);
  std::mt19937 random(3);
  std::vector<std::byte> said, heard;
  for (std::uint64_t message = 0; message < 500; ++message) {
    const auto bytes = pattern(message, random() % 900);
    std::size_t put = 0;
    while (put < bytes.size()) {
      put += out.put(std::span(bytes).subspan(put), true);
      out.publish();
      // The reader knows how long the message is; what is behind it in its last line is skipped.
      while (const std::size_t unread = in.unread()) {
        const auto piece = in.next(unread, bytes.size() - (heard.size() - said.size()));
        heard.insert(heard.end(), piece.begin(), piece.end());
        in.take(piece.size());
      }
      out.was_taken(in.taken());
    }
    said.insert(said.end(), bytes.begin(), bytes.end());
    ASSERT_TRUE(said == heard) << message;
  }
  EXPECT_GT(in.taken(), 100 * out.capacity());
}

TEST(SharedMemoryRing, AFullOneTakesNothing) {
  Outbox out(1024);
  const auto bytes = pattern(1, 5000);
  EXPECT_EQ(out.put(bytes, true), 1024u);
  EXPECT_EQ(out.put(bytes, true), 0u);
  out.was_taken(2048);  // cannot be
  out.was_taken(65);
  EXPECT_EQ(out.room(), 0u);
  out.was_taken(64);
  EXPECT_EQ(out.room(), 64u);
}

TEST(SharedMemoryRing, CountersThatCannotBeAreSeen) {
  Outbox out(1024);
  for (const std::uint64_t written :
       {std::uint64_t{1025}, std::uint64_t{2048}, std::uint64_t{63}, ~std::uint64_t{63}}) {
    Inbox in(copy_of(out.descriptor()), 1024);
    out.head().written = written;
    EXPECT_EQ(in.unread(), 0u) << written;
    EXPECT_TRUE(in.broken()) << written;
  }
}

TEST(SharedMemoryRing, OnlyItsOwnerCanWriteThere) {
  const Outbox out;
  EXPECT_FALSE(shm::Mapping(out.descriptor(), 4096, PROT_READ | PROT_WRITE).good());
  EXPECT_NE(::ftruncate(out.descriptor(), 0), 0);
  EXPECT_TRUE(shm::Mapping(out.descriptor(), 4096, PROT_READ).good());
}

TEST(SharedMemoryRing, MemoryThatCouldBeTakenAwayIsRefused) {
  const Descriptor loose(::memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(loose.get(), 4096 + 1024), 0);
  EXPECT_THROW(Inbox(loose, 1024), Error);
  const Outbox out(1024);
  EXPECT_THROW(Inbox(copy_of(out.descriptor()), 2048), Error);
  EXPECT_THROW(Inbox(copy_of(out.descriptor()), 1000), Error);
  EXPECT_THROW(Inbox(Descriptor(), 1024), Error);
}

// ---- strangers

class SharedMemoryStrangers : public ::testing::Test {
 protected:
  SharedMemoryStrangers() : world_(muster::testing::make_real_world(make_shared_memory_transport)) {}

  void SetUp() override {
    connect(a_, kA, b_, kB);
    name_ = shm::open_address(a_.transport->address()).name;
    ASSERT_EQ(shm::dial(name_, stranger_), shm::Dialed::yes);
  }
  /// Whatever the stranger did, the others go on.
  void TearDown() override {
    b_.send(kA, kB, 1, 1 << 20);
    EXPECT_TRUE(world_->until([&] { return a_.sink.whole.size() == 1; }));
    EXPECT_TRUE(a_.sink.failures.empty() && b_.sink.failures.empty());
  }
  bool refused() {
    return world_->until([&] { return a_.sink.refusals.size() == 1; });
  }
  shm::Hello hello(const Outbox& box) const {
    shm::Hello hello;
    hello.stream = 5;
    hello.capacity = box.capacity();
    std::memset(hello.name, 'x', sizeof hello.name);
    return hello;
  }

  std::unique_ptr<muster::testing::World> world_;
  WorldNode& a_ = world_->add("a");
  WorldNode& b_ = world_->add("b");
  std::string name_;
  Descriptor stranger_;
};

TEST_F(SharedMemoryStrangers, WhoSaysNothingIsInNobodysWay) {
  world_->settle();
}

TEST_F(SharedMemoryStrangers, WhoSaysNonsenseIsRefused) {
  ASSERT_GT(::send(stranger_.get(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 0);
  EXPECT_TRUE(refused());
}

TEST_F(SharedMemoryStrangers, AHelloOfAnotherProtocolIsRefused) {
  const Outbox box;
  shm::Hello other = hello(box);
  other.magic += 1;
  ASSERT_TRUE(shm::send_hello(stranger_, other, box.descriptor()));
  EXPECT_TRUE(refused());
}

TEST_F(SharedMemoryStrangers, AnOutboxOfAnotherSizeIsRefused) {
  const Outbox box(4096);
  shm::Hello wrong = hello(box);
  wrong.capacity = 8192;
  ASSERT_TRUE(shm::send_hello(stranger_, wrong, box.descriptor()));
  EXPECT_TRUE(refused());
}

TEST_F(SharedMemoryStrangers, GarbageInAnOutboxEndsItsConnection) {
  Outbox box;
  box.put(pattern(4, 128), false);
  box.publish();
  ASSERT_TRUE(shm::send_hello(stranger_, hello(box), box.descriptor()));
  EXPECT_TRUE(refused());
}

TEST_F(SharedMemoryStrangers, CountersThatCannotBeEndItsConnection) {
  Outbox box;
  box.head().written = 3 * box.capacity();
  ASSERT_TRUE(shm::send_hello(stranger_, hello(box), box.descriptor()));
  EXPECT_TRUE(refused());
}

// ---- ends

TEST(SharedMemory, APeerThatLetsGoIsNoticed) {
  const auto world = muster::testing::make_real_world(make_shared_memory_transport);
  WorldNode& a = world->add("a");
  WorldNode& b = world->add("b");
  connect(a, kA, b, kB);
  a.send(kB, kA, 1, 1000);
  b.send(kA, kB, 2, 1000);
  b.transport.reset();
  EXPECT_TRUE(world->until([&] { return a.sink.failures.size() == 1; }));
  EXPECT_TRUE(world->until([&] { return a.sink.whole.size() == 1; })) << "what it said before it went";
}

TEST(SharedMemory, APeerThatConnectsAnewEndsTheOldConnection) {
  const auto world = muster::testing::make_real_world(make_shared_memory_transport);
  WorldNode& a = world->add("a");
  WorldNode& b = world->add("b");
  connect(a, kA, b, kB);
  a.send(kB, kA, 1, 1000);
  ASSERT_TRUE(world->until([&] { return b.sink.whole.size() == 1; }));
  b.transport->disconnect(kA);
  b.transport->connect(kA, a.transport->address());
  EXPECT_TRUE(world->until([&] { return a.sink.failures.size() == 1; }));
  a.transport->connect(kB, b.transport->address());
  a.send(kB, kA, 2, 1 << 22);
  b.send(kA, kB, 3, 1 << 22);
  EXPECT_TRUE(world->until([&] { return b.sink.whole.size() == 2 && a.sink.whole.size() == 1; }));
}

TEST(SharedMemory, WhoIsNotThereAnyMoreIsAFailure) {
  const auto world = muster::testing::make_real_world(make_shared_memory_transport);
  WorldNode& a = world->add("a");
  WorldNode& b = world->add("b");
  const std::string address = b.transport->address();
  b.transport.reset();
  a.transport->connect(kB, address);
  a.send(kB, kA, 1, 1000);
  EXPECT_TRUE(world->until([&] { return a.sink.failures.size() == 1; }));
  EXPECT_EQ(a.sink.tokens_back(), 1u);
}

TEST(SharedMemory, WhatIsSaidBeforeTheOtherSideHasConnectedArrives) {
  const auto world = muster::testing::make_real_world(make_shared_memory_transport);
  WorldNode& a = world->add("a");
  WorldNode& b = world->add("b");
  a.transport->connect(kB, b.transport->address());
  a.send(kB, kA, 1, 1000);
  EXPECT_TRUE(world->until([&] { return b.sink.whole.size() == 1; }));
  a.send(kB, kA, 2, 1 << 22);  // more than there is room for
  world->settle();
  EXPECT_EQ(b.sink.whole.size(), 1u);
  b.transport->connect(kA, a.transport->address());
  EXPECT_TRUE(world->until([&] { return b.sink.whole.size() == 2; }));
}

}  // namespace
