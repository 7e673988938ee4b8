#include <gtest/gtest.h>

#include "transport/collective/engine/demand_book.hpp"

namespace {

using namespace muster;
using std::chrono::seconds;

DemandBody demand(std::uint32_t shard, std::uint64_t ticket) {
  return {shard, ticket, 1, 0, 10 * ticket};
}

BatchBody batch(std::uint32_t shard, std::uint64_t ticket) {
  return {shard, ticket};
}

TEST(DemandBook, KeepsADemandUntilItIsAnswered) {
  DemandBook book;
  EXPECT_TRUE(book.waited_for().empty());
  book.asked(7, demand(2, 1), seconds(1));
  book.asked(7, demand(1, 1), seconds(2));
  book.asked(8, demand(3, 4), seconds(3));
  EXPECT_EQ(book.waited_for(), (std::vector<PeerId>{7, 8}));
  EXPECT_EQ(book.asked_at(7), DemandBook::Time(seconds(2)));
  book.answered(7, batch(2, 9));  // an old ticket
  book.answered(9, batch(2, 1));  // of another loader
  ASSERT_EQ(book.unanswered(7).size(), 2u);
  EXPECT_EQ(book.unanswered(7)[1].shard, 2u);
  EXPECT_EQ(book.unanswered(7)[1].step, 10u) << "the demand as it was sent";
  book.answered(7, batch(2, 1));
  book.answered(7, batch(1, 1));
  EXPECT_EQ(book.waited_for(), std::vector<PeerId>{8});
  EXPECT_FALSE(book.asked_at(7));
  book.enter();
  EXPECT_TRUE(book.waited_for().empty());
}

TEST(DemandBook, TakesADemandOnceUntilItIsGiven) {
  DemandBook book;
  EXPECT_TRUE(book.taken(0, demand(2, 1)));
  EXPECT_FALSE(book.taken(0, demand(2, 1))) << "it is owed already";
  EXPECT_TRUE(book.taken(1, demand(2, 1))) << "of another node";
  EXPECT_EQ(book.owed(0), 1u);
  book.given(0, batch(2, 1));
  EXPECT_EQ(book.owed(0), 0u);
  EXPECT_TRUE(book.taken(0, demand(2, 1))) << "the answer was lost";
  EXPECT_EQ(book.owed(5), 0u);
}

TEST(DemandBook, OwesNoMoreThanItsBound) {
  DemandBook book;
  for (std::uint64_t ticket = 1; ticket <= DemandBook::kOwedMax; ++ticket)
    ASSERT_TRUE(book.taken(0, demand(0, ticket)));
  EXPECT_FALSE(book.taken(0, demand(1, 1)));
  EXPECT_EQ(book.owed(0), DemandBook::kOwedMax);
}

}  // namespace
