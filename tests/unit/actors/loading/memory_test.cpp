#include "actors/pipeline/memory.hpp"

#include <gtest/gtest.h>

#include "muster/error.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::error_message;
using pipeline_test::job_error_key;

TEST(PrefetchDepth, IsWhatTheJobAsksWhereItFits) {
  EXPECT_EQ(prefetch_depth({1000, 0, 10, 4, 2}), 2u);
  EXPECT_EQ(prefetch_depth({1000, 0, 10, 4, 25}), 25u);
  EXPECT_EQ(prefetch_depth({1000, 0, 10, 4, 0}), 1u);
  EXPECT_EQ(prefetch_depth({1000, 1000, 0, 4, 3}), 3u);
}

TEST(PrefetchDepth, ShrinksToTheBound) {
  EXPECT_EQ(prefetch_depth({1000, 200, 100, 4, 9}), 2u);
  EXPECT_EQ(prefetch_depth({1000, 201, 100, 4, 9}), 1u);
  EXPECT_EQ(prefetch_depth({1000, 600, 100, 4, 9}), 1u);
}

TEST(PrefetchDepth, RefusesWhatCannotBeAndSaysWhatIsNeeded) {
  const auto call = [] { prefetch_depth({1000, 601, 100, 4, 9}); };
  EXPECT_EQ(job_error_key(call), "data.memory");
  EXPECT_NE(error_message(call).find("1001 bytes"), std::string::npos) << error_message(call);
  EXPECT_NE(error_message(call).find("1MiB"), std::string::npos) << error_message(call);
}

TEST(PrefetchDepth, DoesNotWrapAround) {
  const ReaderMemory demand{1000, 1, std::uint64_t{1} << 62, 16, 2};
  EXPECT_EQ(memory_needed(demand, 2), ~std::uint64_t{0});
  EXPECT_EQ(job_error_key([&] { prefetch_depth(demand); }), "data.memory");
}

}  // namespace
}  // namespace muster
