#include <gtest/gtest.h>

#include "transport/collective/demand_book.hpp"

namespace {

using namespace muster;
using std::chrono::seconds;

Frame frame_of(std::uint32_t shard, std::uint64_t ticket) {
  Frame frame;
  frame.kind = FrameKind::demand;
  frame.node = shard;
  frame.round = ticket;
  frame.offset = 10 * ticket;
  return frame;
}

TEST(DemandBook, KeepsADemandUntilItIsAnswered) {
  DemandBook book;
  EXPECT_TRUE(book.waited_for().empty());
  book.asked(7, frame_of(2, 1), seconds(1));
  book.asked(7, frame_of(1, 1), seconds(2));
  book.asked(8, frame_of(3, 4), seconds(3));
  EXPECT_EQ(book.waited_for(), (std::vector<PeerId>{7, 8}));
  EXPECT_EQ(book.asked_at(7), DemandBook::Time(seconds(2)));
  book.answered(7, frame_of(2, 9));  // an old ticket
  book.answered(9, frame_of(2, 1));  // of another loader
  ASSERT_EQ(book.unanswered(7).size(), 2u);
  EXPECT_EQ(book.unanswered(7)[1].node, 2u);
  EXPECT_EQ(book.unanswered(7)[1].offset, 10u) << "the frame as it was sent";
  book.answered(7, frame_of(2, 1));
  book.answered(7, frame_of(1, 1));
  EXPECT_EQ(book.waited_for(), std::vector<PeerId>{8});
  EXPECT_FALSE(book.asked_at(7));
  book.enter();
  EXPECT_TRUE(book.waited_for().empty());
}

TEST(DemandBook, TakesADemandOnceUntilItIsGiven) {
  DemandBook book;
  EXPECT_TRUE(book.taken(0, frame_of(2, 1)));
  EXPECT_FALSE(book.taken(0, frame_of(2, 1))) << "it is owed already";
  EXPECT_TRUE(book.taken(1, frame_of(2, 1))) << "of another node";
  EXPECT_EQ(book.owed(0), 1u);
  book.given(0, frame_of(2, 1));
  EXPECT_EQ(book.owed(0), 0u);
  EXPECT_TRUE(book.taken(0, frame_of(2, 1))) << "the answer was lost";
  EXPECT_EQ(book.owed(5), 0u);
}

TEST(DemandBook, OwesNoMoreThanItsBound) {
  DemandBook book;
  for (std::uint64_t ticket = 1; ticket <= DemandBook::kOwedMax; ++ticket)
    ASSERT_TRUE(book.taken(0, frame_of(0, ticket)));
  EXPECT_FALSE(book.taken(0, frame_of(1, 1)));
  EXPECT_EQ(book.owed(0), DemandBook::kOwedMax);
}

}  // namespace
