#include "transport/ended_transfers.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

class Sink final : public FrameSink {
 public:
  explicit Sink(EndedTransfers& ended) : ended_(ended) {}

  std::span<std::byte> place(const Frame&) override { return {}; }
  void arrived(const Frame&, std::span<std::byte>) override {}
  void dropped(const Frame& frame) override { told.push_back("dropped " + std::to_string(frame.view)); }
  void sent(PeerId to, SendToken token, bool ok) override {
    told.push_back((ok ? "sent " : "failed ") + std::to_string(to) + " " + std::to_string(token));
    if (token == 1) ended_.add(to, 99);  // it disconnects another peer
  }
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string&) override {}

  std::vector<std::string> told;

 private:
  EndedTransfers& ended_;
};

TEST(EndedTransfers, TheSinkIsToldOfEachOnceSendsFirst) {
  EndedTransfers ended;
  Sink sink(ended);
  Frame frame;
  frame.view = 7;
  ended.add(frame);
  ended.add(20, 2);
  ended.add(30, 3);
  EXPECT_FALSE(ended.empty());
  EXPECT_TRUE(ended.report(sink));
  EXPECT_EQ(sink.told, (std::vector<std::string>{"failed 20 2", "failed 30 3", "dropped 7"}));
  EXPECT_TRUE(ended.empty());
  EXPECT_FALSE(ended.report(sink));
  EXPECT_EQ(sink.told.size(), 3u);
}

TEST(EndedTransfers, WhatEndsWhileTheSinkIsToldIsForTheNextCall) {
  EndedTransfers ended;
  Sink sink(ended);
  ended.add(20, 1);
  EXPECT_TRUE(ended.report(sink));
  EXPECT_EQ(sink.told, (std::vector<std::string>{"failed 20 1"}));
  EXPECT_TRUE(ended.report(sink));
  EXPECT_EQ(sink.told.back(), "failed 20 99");
}

}  // namespace
