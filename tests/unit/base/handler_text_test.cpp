#include "base/handler_text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(HandlerText, HoldsNumbersAndLeavesOutWhatIsBeyondItsRoom) {
  HandlerText text;
  text.add(std::uint64_t{0});
  text.add(' ');
  text.add(~std::uint64_t{0});
  EXPECT_EQ(text.view(), "0 18446744073709551615");
  text.cut(1);
  EXPECT_EQ(text.view(), "0");
  for (std::size_t i = 0; i < HandlerText::kRoom; ++i) text.add("xy");
  EXPECT_EQ(text.size(), HandlerText::kRoom);
}

}  // namespace
}  // namespace muster
