#include "base/text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Wrapped, BreaksAtTheLastSpaceThatFits) {
  EXPECT_EQ(wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(wrapped("one two three four", 7), "one two\nthree\nfour");
  EXPECT_EQ(wrapped("one two", 7), "one two");
}

TEST(Wrapped, KeepsWordsWholeAndLineBreaksWhereTheyAre) {
  EXPECT_EQ(wrapped("unbreakable is it", 5), "unbreakable\nis it");
  EXPECT_EQ(wrapped("a b\nc d e f\n\ng", 5), "a b\nc d e\nf\n\ng");
  EXPECT_EQ(wrapped("", 5), "");
}

}  // namespace
}  // namespace muster
