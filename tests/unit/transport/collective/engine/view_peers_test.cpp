#include "transport/collective/engine/view_peers.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "muster/error.hpp"

namespace {

using namespace muster;

class Connections final : public Transport {
 public:
  std::string address() const override { return ""; }
  std::string describe() const override { return ""; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId peer, const std::string& address) override {
    if (address.empty()) throw Error("no address");
    made.push_back(peer);
  }
  void disconnect(PeerId) override {}
  void send(PeerId, const Frame&, std::span<const std::byte>, SendToken) override {}
  bool progress() override { return false; }

  std::vector<PeerId> made;
};

Frame frame_of(std::uint32_t view, PeerId from, std::uint64_t incarnation) {
  Frame frame;
  frame.view = view;
  frame.from = from;
  frame.incarnation = incarnation;
  return frame;
}

TEST(ViewPeers, KnowAFrameByItsViewSenderAndIncarnation) {
  Connections connections;
  ViewPeers peers;
  EXPECT_EQ(peers.view(), 0u);
  EXPECT_EQ(peers.enter(3, 10, 1000), 0u);
  peers.connect({20, 2000, "there", 3}, connections);
  EXPECT_TRUE(peers.knows(frame_of(3, 20, 2000)));
  EXPECT_FALSE(peers.knows(frame_of(2, 20, 2000)));
  EXPECT_FALSE(peers.knows(frame_of(3, 20, 1999))) << "it has started anew since";
  EXPECT_FALSE(peers.knows(frame_of(3, 30, 2000)));
  EXPECT_EQ(peers.enter(4, 10, 1000), 3u);
  EXPECT_FALSE(peers.knows(frame_of(3, 20, 2000)));
  EXPECT_TRUE(peers.knows(frame_of(4, 20, 2000))) << "the connection stays";
}

TEST(ViewPeers, ConnectEachPeerOnce) {
  Connections connections;
  ViewPeers peers;
  peers.enter(3, 10, 1000);
  peers.connect({10, 1000, "here", 3}, connections);  // this node itself
  peers.connect({20, 2000, "there", 3}, connections);
  peers.connect({20, 2001, "there", 3}, connections);
  EXPECT_EQ(connections.made, std::vector<PeerId>{20});
  EXPECT_TRUE(peers.knows(frame_of(3, 20, 2001)));
  EXPECT_FALSE(peers.is_connected(10));
  EXPECT_TRUE(peers.remove(20));
  EXPECT_FALSE(peers.remove(20));
  EXPECT_FALSE(peers.knows(frame_of(3, 20, 2001)));
  peers.connect({20, 2002, "there", 3}, connections);
  EXPECT_EQ(connections.made, (std::vector<PeerId>{20, 20}));
}

TEST(ViewPeers, APeerWithoutAUsefulAddressIsNotKnown) {
  Connections connections;
  ViewPeers peers;
  peers.enter(3, 10, 1000);
  EXPECT_THROW(peers.connect({20, 2000, "", 3}, connections), Error);
  EXPECT_FALSE(peers.knows(frame_of(3, 20, 2000)));
}

TEST(ViewPeers, SignFramesOfThisNode) {
  ViewPeers peers;
  peers.enter(3, 10, 1000);
  Frame frame;
  peers.sign(frame);
  EXPECT_EQ(frame.view, 3u);
  EXPECT_EQ(frame.from, 10u);
  EXPECT_EQ(frame.incarnation, 1000u);
}

TEST(ViewPeers, BlameEachPeerOnceInAView) {
  ViewPeers peers;
  peers.enter(3, 10, 1000);
  EXPECT_TRUE(peers.blame(20));
  EXPECT_FALSE(peers.blame(20));
  EXPECT_TRUE(peers.blame(30));
  peers.forgive(20);
  EXPECT_TRUE(peers.blame(20)) << "a newcomer has its number";
  peers.enter(4, 10, 1000);
  EXPECT_TRUE(peers.blame(30));
}

}  // namespace
