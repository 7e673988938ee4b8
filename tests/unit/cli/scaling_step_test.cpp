// A simulated step: what overlap can hide, and what no algorithm can beat.
#include "cli/scaling/step_simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace muster;

StepShape shape_of(double gradient_bytes, bool overlap) {
  StepShape shape;
  shape.gradient_bytes = gradient_bytes;
  shape.forward_s = 0.1;
  shape.backward_s = 0.2;
  shape.update_s = 0.01;
  shape.overlap = overlap;
  return shape;
}

CostParameters only_wire(double gbit) {
  return {0, 0, 0, 0, 8.0 / (gbit * 1e9), 512 * 1024};
}

TEST(Step, OfOneReplicaIsComputationAlone) {
  for (const bool overlap : {false, true}) {
    const StepTime time = simulate_step(Algorithm::direct, {1, 1}, {}, shape_of(4e9, overlap));
    EXPECT_DOUBLE_EQ(time.total_s, 0.31);
    EXPECT_EQ(time.exposed_s, 0);
  }
}

TEST(Step, WithoutOverlapIsComputationAndThenTheReduction) {
  for (const Algorithm algorithm : kAlgorithms) {
    const StepShape shape = shape_of(4e8, false);
    const StepTime time = simulate_step(algorithm, {64, 8}, {}, shape);
    EXPECT_DOUBLE_EQ(time.total_s, 0.31 + time.exposed_s);
    // Headers go out while the replica computes; else it is the reduction alone.
    EXPECT_LE(time.exposed_s, reduction_seconds(algorithm, {64, 8}, {}, 4e8));
    EXPECT_GT(time.exposed_s, 0.8 * reduction_seconds(algorithm, {64, 8}, {}, 4e8));
  }
}

// 2 (H-1) / H of the vector leave each host, and come to it.
TEST(Step, IsNotQuickerThanTheWire) {
  constexpr double kBytes = 4e9;
  for (const bool overlap : {false, true}) {
    for (const Algorithm algorithm : kAlgorithms) {
      const StepTime time = simulate_step(algorithm, {64, 8}, only_wire(100), shape_of(kBytes, overlap));
      const double least_s = 2 * 7.0 / 8 * kBytes * 8 / 100e9;
      EXPECT_GE(time.wire_s, least_s * 0.999);
      EXPECT_GE(time.total_s, time.wire_s);
      if (algorithm == Algorithm::hierarchical) {
        EXPECT_NEAR(time.wire_s, least_s, 0.001);
      }
    }
  }
}

TEST(Step, OverlapHidesAllButTheLastBucketWhereTheNetworkKeepsUp) {
  const StepShape shape = shape_of(4e8, true);
  const StepTime time = simulate_step(Algorithm::hierarchical, {64, 8}, only_wire(400), shape);
  const double buckets = std::ceil(shape.gradient_bytes / shape.bucket_bytes);
  EXPECT_NEAR(time.exposed_s, 2 * 7.0 / 8 * shape.gradient_bytes / buckets * 8 / 400e9, 1e-4);
}

TEST(Step, OverlapHidesAtMostTheBackwardPass) {
  for (const Algorithm algorithm : kAlgorithms) {
    const StepTime apart = simulate_step(algorithm, {64, 8}, only_wire(100), shape_of(4e9, false));
    const StepTime along = simulate_step(algorithm, {64, 8}, only_wire(100), shape_of(4e9, true));
    EXPECT_LT(along.total_s, apart.total_s) << text_of(algorithm);
    EXPECT_GE(along.total_s, apart.total_s - 0.2) << text_of(algorithm);
  }
}

// Headers and losses alone: two messages out and two in for every pair.
TEST(Step, ThousandsOfReplicasPayForTheReportsOfAll) {
  CostParameters parameters;
  parameters.overhead_s = 2e-6;
  const StepTime time =
      simulate_step(Algorithm::halving_doubling, {4096, 8}, parameters, shape_of(4096 * 64, false));
  EXPECT_GT(time.thread_s, 4 * 4095 * 2e-6);
  EXPECT_GT(time.exposed_s, 2 * 4095 * 2e-6);
}

}  // namespace
