// Every kind of processor that this one can play, for code that Highway compiles for each of them.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::testing {

class OnEveryProcessor : public ::testing::TestWithParam<std::int64_t> {
 public:
  static std::vector<std::int64_t> all() {
    std::vector<std::int64_t> targets;
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1)
      targets.push_back(left & -left);
    return targets;
  }
  static std::string name(const ::testing::TestParamInfo<std::int64_t>& target) {
    return hwy::TargetName(target.param);
  }

 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace muster::testing
