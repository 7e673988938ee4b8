#include "actors/replica/states/record_feed.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

constexpr std::uint64_t kWindow = 3;

RecordFeed::Record record() {
  return std::make_shared<TransferPayload>();
}

/// "1<5": record 5 is sent to peer 1; "1 taken 3": peer 1 is given up, with 3 records applied.
std::string text(const RecordFeed::Actions& actions) {
  std::string all;
  for (const auto& action : actions) {
    if (!all.empty()) all += ", ";
    if (const auto* send = std::get_if<RecordFeed::Send>(&action)) {
      EXPECT_TRUE(send->record);
      all += std::to_string(send->to) + "<" + std::to_string(send->number);
    } else {
      const auto& slow = std::get<RecordFeed::TooSlow>(action);
      all += std::to_string(slow.peer) + " taken " + std::to_string(slow.taken);
    }
  }
  return all;
}

RecordFeed feeding(std::initializer_list<PeerId> peers, std::uint64_t records) {
  RecordFeed feed;
  for (const PeerId peer : peers) feed.wants_state(peer);
  EXPECT_EQ(feed.give_state(records), std::vector<PeerId>(peers));
  return feed;
}

TEST(RecordFeed, StateGoesOnceToAllWhoWait) {
  RecordFeed feed;
  EXPECT_FALSE(feed.somebody_waits());
  feed.wants_state(7);
  feed.wants_state(4);
  EXPECT_TRUE(feed.somebody_waits());
  EXPECT_FALSE(feed.feeds_somebody());
  EXPECT_EQ(feed.give_state(10), (std::vector<PeerId>{7, 4}));
  EXPECT_FALSE(feed.somebody_waits());
  EXPECT_TRUE(feed.feeds_somebody());
  EXPECT_TRUE(feed.is_for(4, 10));
  EXPECT_FALSE(feed.is_for(4, 11)) << "that is an older copy";
  EXPECT_FALSE(feed.is_for(5, 10));
}

TEST(RecordFeed, EachRecordGoesToAllWhoAreFed) {
  RecordFeed feed = feeding({7, 4}, 10);
  EXPECT_EQ(text(feed.keep(record(), 11, kWindow)), "4<11, 7<11");
  EXPECT_EQ(text(feed.taken(4, 11, kWindow)), "");
  EXPECT_EQ(text(feed.keep(record(), 12, kWindow)), "4<12, 7<12");
}

TEST(RecordFeed, NoMoreThanAWindowIsOnItsWay) {
  RecordFeed feed = feeding({4}, 10);
  for (std::uint64_t number = 11; number <= 13; ++number) feed.keep(record(), number, kWindow);
  EXPECT_EQ(text(feed.keep(record(), 14, kWindow)), "") << "three are on their way";
  EXPECT_EQ(text(feed.taken(4, 11, kWindow)), "4<14");
}

TEST(RecordFeed, WhoMissesWhatIsNotKeptIsGivenUp) {
  RecordFeed feed = feeding({4, 5}, 10);
  for (std::uint64_t number = 11; number <= 14; ++number) {
    feed.keep(record(), number, kWindow);
    feed.taken(5, number, kWindow);
  }
  EXPECT_EQ(text(feed.keep(record(), 15, kWindow)), "5<15");
  EXPECT_EQ(text(feed.keep(record(), 16, kWindow)), "5<16");
  EXPECT_EQ(feed.oldest(), 14u) << "13 was sent to both";
  EXPECT_EQ(text(feed.keep(record(), 17, kWindow)), "4 taken 10, 5<17");
  EXPECT_EQ(text(feed.taken(4, 13, kWindow)), "") << "it is not fed any more";
}

TEST(RecordFeed, AnAcknowledgementOfWhatWasNotSentIsIgnored) {
  RecordFeed feed = feeding({4}, 10);
  feed.keep(record(), 11, kWindow);
  EXPECT_EQ(text(feed.taken(4, 12, kWindow)), "");
  for (std::uint64_t number = 12; number <= 14; ++number) feed.keep(record(), number, kWindow);
  EXPECT_EQ(text(feed.taken(4, 11, kWindow)), "4<14") << "11 counts, 12 did not";
}

TEST(RecordFeed, WhatIsKeptIsFoundByNumber) {
  RecordFeed feed = feeding({4}, 10);
  EXPECT_FALSE(feed.find(10));
  const auto eleventh = record();
  feed.keep(eleventh, 11, kWindow);
  feed.keep(record(), 12, kWindow);
  EXPECT_EQ(feed.find(11), eleventh);
  EXPECT_FALSE(feed.find(13));
  feed.drop_newest();
  EXPECT_FALSE(feed.find(12));
  EXPECT_EQ(feed.oldest(), 11u);
  feed.drop_records();
  EXPECT_FALSE(feed.keeps_records());
  EXPECT_FALSE(feed.find(11));
  feed.drop_newest();  // of none
}

// A record that was taken while nobody was fed is not kept: those before it are of no use to anybody who is
// fed later.
TEST(RecordFeed, WhatIsKeptHasNoGap) {
  RecordFeed feed = feeding({4}, 10);
  feed.keep(record(), 11, kWindow);
  feed.wants_nothing(4);
  EXPECT_FALSE(feed.find(12)) << "it was not kept";
  EXPECT_EQ(feed.oldest(), 11u);
  feed.wants_state(5);
  feed.give_state(12);
  EXPECT_EQ(text(feed.keep(record(), 13, kWindow)), "5<13");
  EXPECT_EQ(feed.oldest(), 13u);
  EXPECT_FALSE(feed.find(11));
}

TEST(RecordFeed, WhoWantsNothingIsForgotten) {
  RecordFeed feed = feeding({4, 5}, 10);
  feed.wants_state(6);
  feed.wants_nothing(4);
  feed.wants_nothing(6);
  EXPECT_FALSE(feed.somebody_waits());
  EXPECT_EQ(text(feed.keep(record(), 11, kWindow)), "5<11");
  feed.forget_newcomers();
  EXPECT_FALSE(feed.feeds_somebody());
  EXPECT_TRUE(feed.find(11)) << "others may miss it";
}

}  // namespace
}  // namespace muster
