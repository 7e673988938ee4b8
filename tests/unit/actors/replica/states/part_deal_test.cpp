#include "actors/replica/states/part_deal.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Step = PartDeal::Step;

PartSource source_of(std::uint32_t view) {
  PartSource source;
  source.view = view;
  return source;
}

// The view has taken effect here: parts are dealt, and a record was taken.
void complete(PartDeal& deal, std::uint32_t view) {
  deal.begin();
  deal.worked(true, true);
  deal.take_effect(view);
}

TEST(PartDeal, IsDoneOnceAllIsGivenAndAllIsThere) {
  PartDeal deal;
  EXPECT_TRUE(deal.done()) << "without parts nothing waits for them";
  deal.enter(source_of(0), 1);
  EXPECT_FALSE(deal.done());
  EXPECT_EQ(deal.worked(false, false), Step::none) << "the new part has its memory";
  EXPECT_TRUE(deal.begin());
  EXPECT_FALSE(deal.begin()) << "once in a view";
  EXPECT_EQ(deal.worked(true, false), Step::lacks);
  EXPECT_FALSE(deal.is_worked_on()) << "it waits for others";
  deal.ask();
  EXPECT_TRUE(deal.is_worked_on());
  EXPECT_EQ(deal.worked(false, true), Step::done);
  EXPECT_TRUE(deal.done());
  deal.ask();
  EXPECT_EQ(deal.worked(false, true), Step::none) << "given for a checkpoint";
}

TEST(PartDeal, WhatIsThereBeforeItIsGivenWaits) {
  PartDeal deal;
  deal.enter(source_of(0), 1);
  EXPECT_EQ(deal.worked(false, true), Step::none);
  deal.begin();
  EXPECT_EQ(deal.worked(true, false), Step::done);
}

TEST(PartDeal, AViewThatTookEffectHereHasThePart) {
  PartDeal deal;
  EXPECT_TRUE(deal.enter(source_of(0), 1).has_none) << "at the beginning nobody holds one";
  complete(deal, 1);
  EXPECT_FALSE(deal.take_effect(1));
  const auto entry = deal.enter(source_of(1), 2);
  EXPECT_FALSE(entry.next_counts);
  EXPECT_FALSE(entry.has_none);
}

TEST(PartDeal, AViewThatTookEffectElsewhereCountsHere) {
  PartDeal deal;
  deal.enter(source_of(0), 1);
  complete(deal, 1);
  deal.enter(source_of(1), 2);  // its records are taken by others only
  const auto entry = deal.enter(source_of(2), 3);
  EXPECT_TRUE(entry.next_counts);
  EXPECT_FALSE(entry.has_none);
  EXPECT_EQ(deal.took(), 2u);
}

TEST(PartDeal, AViewWithoutEffectLeavesThePartOfTheOneBefore) {
  PartDeal deal;
  deal.enter(source_of(0), 1);
  complete(deal, 1);
  deal.enter(source_of(1), 2);
  const auto entry = deal.enter(source_of(1), 3);
  EXPECT_FALSE(entry.next_counts);
  EXPECT_FALSE(entry.has_none);
  EXPECT_EQ(deal.took(), 1u);
}

TEST(PartDeal, APartOfAViewThatDoesNotCountIsGone) {
  PartDeal deal;
  deal.enter(source_of(0), 1);
  complete(deal, 1);
  EXPECT_TRUE(deal.enter(source_of(4), 5).has_none) << "it was not a member of view 4";
  EXPECT_TRUE(deal.enter(source_of(0), 6).has_none) << "all go back to a checkpoint";
  deal.skip();
  EXPECT_TRUE(deal.done());
}

}  // namespace
}  // namespace muster
