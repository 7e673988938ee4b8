// What a reduction makes of frames that no member sends.
#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction_world.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/frames/raw_words.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::random_rounds;
using muster::testing::ReductionWorld;
using muster::testing::ReductionWorldShape;
using oracle::RandomValues;

ReductionWorldShape three_members() {
  ReductionWorldShape shape;
  shape.shards = 5;
  shape.elements = 48;
  shape.split = {2, 2, 1};
  return shape;
}

// Frames of every kind from a sender that is not what it says: of another view, of a dead incarnation, of a
// member that is not there.
void send_forgeries(Transport& ghost, std::size_t members, const std::vector<std::byte>& garbage,
                    SendToken& token) {
  for (PeerId to = 0; to < members; ++to) {
    for (std::uint16_t kind = 1; kind <= 6; ++kind) {
      for (int lie = 0; lie < 3; ++lie) {
        Frame frame;
        frame.kind = static_cast<FrameKind>(kind);
        frame.from = lie == 2 ? 77 : static_cast<std::uint32_t>((to + 1) % members);
        frame.view = lie == 0 ? ReductionWorld::kView - 1 : ReductionWorld::kView;
        frame.incarnation = lie == 1 ? 5 : 1000 + frame.from;
        frame.round = 1;
        RawWords{0, 1, 0, 0}.put_into(frame);  // for some kinds a tree node, for some a shard
        frame.bytes = kind == 6 ? 0 : garbage.size();
        ghost.send(to, frame, std::span(garbage).first(frame.bytes), token++);
      }
    }
  }
}

TEST(ForgedFrames, OfOldViewsAndDeadIncarnationsChangeNothing) {
  const ReductionWorldShape shape = three_members();
  RandomValues random(51);
  ReductionWorld world(shape, random_rounds(30, shape, random), 51);
  muster::testing::RecordingSink sink;
  const auto ghost = world.network().attach("ghost");
  ghost->set_sink(&sink);
  const std::vector<std::byte> garbage(64, std::byte{0x7f});
  SendToken token = 0;
  for (PeerId i = 0; i < 3; ++i) ghost->connect(i, world.members()[i].transport->address());
  world.install_all();
  for (int burst = 0; burst < 100; ++burst) {
    world.queue().after(burst * 100us, [&] { send_forgeries(*ghost, 3, garbage, token); });
  }
  ASSERT_TRUE(world.run());
  ASSERT_TRUE(world.complete());
  world.expect_all_right();
  for (const auto& member : world.members()) EXPECT_EQ(member.foreign, 0u) << member.name;
}

// The same kinds from a member that is one: what it says may end the reduction, and never the process.
TEST(ForgedFrames, NoFrameOfAMemberEndsTheProcess) {
  const ReductionWorldShape shape = three_members();
  RandomValues random(52);
  ReductionWorld world(shape, random_rounds(30, shape, random), 52);
  muster::testing::RecordingSink sink;
  const auto ghost = world.network().attach("ghost");
  ghost->set_sink(&sink);
  ghost->connect(0, world.members()[0].transport->address());
  const std::vector<std::byte> garbage(64, std::byte{0x7f});
  SendToken token = 0;
  world.install_all();
  for (std::uint16_t kind = 0; kind <= 20; ++kind) {
    for (std::uint32_t word = 0; word < 4; ++word) {
      world.queue().after((kind * 4 + word) * 20us, [&, kind, word] {
        Frame frame;
        frame.kind = static_cast<FrameKind>(kind);
        frame.from = 1;
        frame.view = ReductionWorld::kView;
        frame.incarnation = 1001;
        frame.round = 1 + word;
        RawWords{word * 16, word, word, word * 16}.put_into(frame);
        frame.bytes = garbage.size();
        ghost->send(0, frame, garbage, token++);
      });
    }
  }
  world.run();
  EXPECT_EQ(token, 21u * 4);
}

}  // namespace
