#include "actors/node/states/own_view.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

View numbered_view(std::uint32_t number) {
  View view;
  view.number = number;
  return view;
}

TEST(OwnView, AViewIsInForceFromItsBeginningUntilItIsClosed) {
  OwnView own;
  EXPECT_FALSE(own.may_be_member());
  own.enters(numbered_view(3));
  EXPECT_TRUE(own.may_be_member());
  EXPECT_FALSE(own.begun());
  own.begins(2);
  EXPECT_FALSE(own.begun()) << "that is an older one";
  own.begins(3);
  EXPECT_TRUE(own.begun() && own.run_has_begun());
  own.closes(2);
  EXPECT_TRUE(own.begun());
  own.closes(3);
  EXPECT_FALSE(own.begun());
  own.begins(3);
  own.enters(numbered_view(4));
  EXPECT_FALSE(own.begun());
  EXPECT_TRUE(own.run_has_begun());
}

TEST(OwnView, ANewcomerMayBeAMemberOnceItIsToCloseAView) {
  OwnView own;
  own.observes(numbered_view(3));
  EXPECT_TRUE(own.run_has_begun());
  EXPECT_TRUE(own.is(3));
  EXPECT_FALSE(own.begun() || own.may_be_member());
  own.closes(3);
  EXPECT_TRUE(own.may_be_member());
}

}  // namespace
}  // namespace muster
