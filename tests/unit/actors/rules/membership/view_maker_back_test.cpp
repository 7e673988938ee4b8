// Views that go back to a checkpoint, and end before a step is done in them.
#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(ViewMaker, WhoHasNotGoneBackYetKeepsNobodyOut) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  view.number = 2;
  view.back = true;
  view.records = view.source.records = 1;
  view.source.checkpoint = "step-1.manifest.json";
  membership.entered(view);
  const NodeName name = newcomer(membership);
  membership.transfers().began(name, *membership.transfers().donor());
  membership.transfers().caught_up({name, view.number, 1});
  for (const NodeName& member : membership.begin_close()) {
    const std::uint64_t has = member == kReplica0 ? 7 : 1;  // its disk hangs
    membership.closed({member, view.number, has, has + 1, 1});
  }
  const auto next = membership.views().next(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->replicas.size(), 3u);
  EXPECT_EQ(next.view->records, 1u);
  EXPECT_EQ(next.view->source.checkpoint, view.source.checkpoint);
  EXPECT_TRUE(next.view->behind.empty());
}

TEST(ViewMaker, WhereTooFewGoBackNewcomersReadTheCheckpointToo) {
  View view;
  Membership membership = membership_in_view(2, 0, view, 2);
  view.number = 2;
  view.back = true;
  view.records = view.source.records = 1;
  membership.entered(view);
  const NodeName name = newcomer(membership);  // whom nobody can give a state
  membership.begin_close();
  for (const NodeName& member : {kReplica0, kReplica1}) membership.closed({member, view.number, 7, 8, 1});
  EXPECT_FALSE(membership.views().next(view).view->holds(name)) << "not needed";
  membership.lost(kReplica1);  // and cluster.min_replicas is 2
  const auto next = membership.views().next(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_TRUE(next.view->holds(kReplica0) && next.view->holds(name));
  EXPECT_EQ(next.view->records, 1u);
}

}  // namespace
}  // namespace muster
