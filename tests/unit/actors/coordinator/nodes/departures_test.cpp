#include "actors/coordinator/nodes/departures.hpp"

#include <gtest/gtest.h>

#include "tests/support/idle_nodes.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

// Two replicas train.
class DeparturesTest : public PartTest {
 protected:
  DeparturesTest() : PartTest(std::make_unique<RunningJob>(2)) {
    job_.run.setup.on_lost = [this](std::uint64_t launched) { lost_.push_back(launched); };
  }
  /// One more has come; 0: nobody launched it.
  NodeName comes(std::uint64_t launched) {
    Join join = join_of({false, 77});
    join.joins = true;
    join.launched = launched;
    return job_.membership().admission().join(join).name;
  }

  std::vector<std::uint64_t> lost_;
  testing::IdleNodes nodes_;
  Readiness readiness_{job_.run, arrivals_, port_, actions_, actions_};
  Newcomers newcomers_{job_.run, port_, actions_};
  Adoption adoption_{
      job_.run, job_.checkpoints, {keeper_, suspects_, rollback_, arrivals_, readiness_}, ports_};
  Departures departures_{job_.run, job_.checkpoints, {arrivals_, newcomers_, adoption_}, ports_};
};

TEST_F(DeparturesTest, TheLauncherHearsWhichOfItsStartsIsLost) {
  departures_.lost(comes(9), "coordinator", "silent");
  EXPECT_EQ(port_.names_of_events(), PartTexts{"lost"});
  EXPECT_EQ(lost_, std::vector<std::uint64_t>{9});
}

// It may have the pid of a child of this launcher.
TEST_F(DeparturesTest, TheLauncherHearsNothingOfOneThatJoinedByItself) {
  departures_.lost(comes(0), "coordinator", "silent");
  EXPECT_EQ(port_.names_of_events(), PartTexts{"lost"});
  EXPECT_TRUE(lost_.empty());
}

}  // namespace
}  // namespace muster
