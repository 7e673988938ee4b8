#include "actors/node/plane/view_shape.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

View view_with_loaders() {
  View view;
  for (const NodeName& name :
       {NodeName{false, 0}, NodeName{false, 1}, NodeName{true, 0}, NodeName{true, 1}}) {
    Member member;
    member.name = name;
    (name.loader ? view.loaders : view.replicas).push_back(member);
  }
  return view;
}

std::string peers_text(const NodeName& self) {
  std::string text;
  for (const Member& member : peers_in(view_with_loaders(), self)) text += member.name.text() + ";";
  return text;
}

TEST(ViewShape, ReplicasMeetAllOthersAndLoadersMeetReplicas) {
  EXPECT_EQ(peers_text({false, 0}), "replica 1;loader 0;loader 1;");
  EXPECT_EQ(peers_text({true, 0}), "replica 0;replica 1;");
}

}  // namespace
}  // namespace muster
