// Views that go back to a checkpoint, and end before a step is done in them.
#include "tests/unit/actors/rules/membership/roster_in_view.hpp"

namespace muster {
namespace {

TEST(Roster, WhoHasNotGoneBackYetKeepsNobodyOut) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  view.number = 2;
  view.back = true;
  view.records = view.source.records = 1;
  view.source.checkpoint = "step-1.manifest.json";
  roster.entered(view);
  const NodeName name = newcomer(roster);
  roster.fed(name, *roster.donor());
  roster.caught_up({name, view.number, 1});
  for (const NodeName& member : roster.begin_close()) {
    const std::uint64_t has = member == kReplica0 ? 7 : 1;  // its disk hangs
    roster.closed({member, view.number, has, has + 1, 1});
  }
  const auto next = roster.next_view(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->replicas.size(), 3u);
  EXPECT_EQ(next.view->records, 1u);
  EXPECT_EQ(next.view->source.checkpoint, view.source.checkpoint);
  EXPECT_TRUE(next.view->behind.empty());
}

TEST(Roster, WhereTooFewGoBackNewcomersReadTheCheckpointToo) {
  View view;
  Roster roster = roster_in_view(2, 0, view, 2);
  view.number = 2;
  view.back = true;
  view.records = view.source.records = 1;
  roster.entered(view);
  const NodeName name = newcomer(roster);  // whom nobody can give a state
  roster.begin_close();
  for (const NodeName& member : {kReplica0, kReplica1}) roster.closed({member, view.number, 7, 8, 1});
  EXPECT_FALSE(roster.next_view(view).view->holds(name)) << "not needed";
  roster.lost(kReplica1);  // and cluster.min_replicas is 2
  const auto next = roster.next_view(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_TRUE(next.view->holds(kReplica0) && next.view->holds(name));
  EXPECT_EQ(next.view->records, 1u);
}

}  // namespace
}  // namespace muster
