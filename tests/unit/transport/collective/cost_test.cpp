// The closed formulas of the cost model against what is counted from the trees and plans, and against a
// simulation of every message.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cli/scaling/phase_cost.hpp"
#include "cli/scaling/step_simulation.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/transport/collective/message_simulation.hpp"
#include "transport/collective/choice/cost.hpp"
#include "transport/collective/sums/sum_plan.hpp"

namespace {

using namespace muster;
using muster::testing::MessageSimulation;
using muster::testing::shape_of;

std::vector<Cluster> clusters(std::uint32_t most) {
  std::vector<Cluster> all;
  for (std::uint32_t members = 1; members <= most; members *= 2) {
    for (std::uint32_t each = 1; each <= members; each *= 2) all.push_back({members, each});
  }
  return all;
}

std::string name_of(Algorithm algorithm, const Cluster& cluster) {
  return std::string(text_of(algorithm)) + ", " + std::to_string(cluster.hosts()) + " hosts of " +
         std::to_string(cluster.per_host);
}

struct Counted {
  double moved = 0;  // elements
  double sums_sent = 0, sums_received = 0, results_sent = 0, results_received = 0;
};

// Messages and additions of each member, from the plans of all.
std::vector<Counted> messages_of(Algorithm algorithm, const Cluster& cluster, std::size_t elements,
                                 std::size_t chunk) {
  std::vector<Counted> all(cluster.members);
  for (std::uint32_t self = 0; self < cluster.members; ++self) {
    const SumPlan plan(shape_of(algorithm, cluster, elements, chunk, self));
    for (const SumPlan::Piece& piece : plan.pieces()) {
      const SumPlan::Role& role = plan.role(piece);
      if (!role.adds()) continue;
      all[self].moved +=
          static_cast<double>((role.inputs.size() + (role.owns ? 1 : role.outputs.size())) * piece.count);
    }
    for (const SumPlan::Run& run : plan.up()) {
      const auto nodes = static_cast<double>(plan.role(plan.pieces()[run.first]).outputs.size());
      all[self].sums_sent += nodes;
      all[run.to].sums_received += nodes;
    }
    for (const SumPlan::Run& run : plan.down()) {
      ++all[self].results_sent;
      ++all[run.to].results_received;
    }
  }
  return all;
}

TEST(PhaseCost, IsWhatIsCountedFromTheTrees) {
  constexpr std::size_t kChunk = 64;
  for (const Cluster& cluster : clusters(kSanitized ? 8 : 32)) {
    const std::size_t elements = 16 * cluster.members;
    const double bytes = static_cast<double>(elements * sizeof(float));
    for (const Algorithm algorithm : kAlgorithms) {
      SCOPED_TRACE(name_of(algorithm, cluster));
      const ReductionCost counted = cost_of(shape_of(algorithm, cluster, elements, kChunk));
      const PhaseCost sums = sums_cost(algorithm, cluster, bytes, kChunk * sizeof(float));
      const PhaseCost results = results_cost(algorithm, cluster, bytes, kChunk * sizeof(float));
      const std::size_t most = *std::max_element(counted.sent_by.begin(), counted.sent_by.end());
      EXPECT_DOUBLE_EQ(sums.total + results.total, static_cast<double>(counted.elements * sizeof(float)));
      EXPECT_DOUBLE_EQ(sums.total_between + results.total_between,
                       static_cast<double>(counted.elements_between_hosts * sizeof(float)));
      EXPECT_DOUBLE_EQ(sums.sent + results.sent, static_cast<double>(most * sizeof(float)));
      EXPECT_EQ(sums.hops_within + sums.hops_between + results.hops_within + results.hops_between,
                static_cast<double>(counted.hops));
    }
  }
}

TEST(PhaseCost, HasTheMessagesAndAdditionsOfTheBusiestMembersPlan) {
  constexpr std::size_t kChunk = 64;
  for (const Cluster& cluster : clusters(16)) {
    if (cluster.members == 1) continue;
    for (const std::size_t range : {16u, 32u, 64u, 256u}) {  // shorter and longer than a chunk
      const std::size_t elements = range * cluster.members;
      const double bytes = static_cast<double>(elements * sizeof(float));
      for (const Algorithm algorithm : kAlgorithms) {
        SCOPED_TRACE(name_of(algorithm, cluster) + ", ranges of " + std::to_string(range));
        double sums = 0, results = 0, moved = 0;
        for (const Counted& member : messages_of(algorithm, cluster, elements, kChunk)) {
          sums = std::max(sums, member.sums_sent + member.sums_received);
          results = std::max(results, member.results_sent + member.results_received);
          moved = std::max(moved, member.moved);
        }
        EXPECT_EQ(sums_cost(algorithm, cluster, bytes, kChunk * sizeof(float)).messages, sums);
        EXPECT_EQ(sums_cost(algorithm, cluster, bytes, kChunk * sizeof(float)).moved, moved * sizeof(float));
        EXPECT_EQ(results_cost(algorithm, cluster, bytes, kChunk * sizeof(float)).messages, results);
      }
    }
  }
}

TEST(PhaseCost, CountsTheReportsBetweenAllPairs) {
  const Cluster cluster{4096, 8};
  const PhaseCost headers = headers_cost(cluster, 2), metrics = metrics_cost(cluster, 2);
  EXPECT_EQ(headers.messages, 2 * 4095);
  EXPECT_EQ(headers.total, 4096.0 * 4095 * (64 + 80 + 8 + 2 * 40));
  EXPECT_EQ(metrics.total, 4096.0 * 4095 * (64 + 8 + 2 * 32));
  EXPECT_EQ(headers.wire, 8.0 * (4096 - 8) * (64 + 80 + 8 + 2 * 40));
}

// What costs something: one thing alone, or all.
struct Setting {
  const char* name;
  double latency, overhead, memory, wire;
  double factor;  ///< they may differ by
};

CostParameters parameters_of(const Setting& setting) {
  CostParameters parameters;
  parameters.latency_within_s = parameters.latency_between_s = setting.latency;
  parameters.overhead_s = setting.overhead;
  parameters.memory_s_per_byte = setting.memory;
  parameters.wire_s_per_byte = setting.wire;
  parameters.chunk_bytes = 4096;
  return parameters;
}

class TheModel : public ::testing::TestWithParam<Setting> {};

TEST_P(TheModel, AgreesWithASimulationOfEveryMessage) {
  const Setting& setting = GetParam();
  const CostParameters parameters = parameters_of(setting);
  for (const Cluster& cluster : clusters(kSanitized ? 4 : 16)) {
    if (cluster.members == 1) continue;
    for (const std::size_t range : {16u, 1024u, 8192u}) {
      const std::size_t elements = range * cluster.members;
      for (const Algorithm algorithm : kAlgorithms) {
        const double simulated = MessageSimulation(algorithm, cluster, parameters, elements).run();
        const double model =
            reduction_seconds(algorithm, cluster, parameters, static_cast<double>(elements * sizeof(float)));
        if (simulated == 0 && model == 0) continue;  // no wire within one host
        EXPECT_LT(model / simulated, setting.factor) << name_of(algorithm, cluster) << ", " << range;
        EXPECT_LT(simulated / model, setting.factor) << name_of(algorithm, cluster) << ", " << range;
      }
    }
  }
}

// Buckets of a backward pass that is too quick for the network, as quick, and slow.
TEST_P(TheModel, AgreesWhereBucketsOverlap) {
  const CostParameters parameters = parameters_of(GetParam());
  constexpr std::size_t kBuckets = 6;
  constexpr double kFactor = 1.1;
  for (const Cluster& cluster : {Cluster{4, 1}, Cluster{8, 2}, Cluster{8, 8}, Cluster{16, 4}}) {
    if (kSanitized && cluster.members > 4) continue;
    const std::size_t elements = 1024 * cluster.members;
    const double bytes = static_cast<double>(elements * sizeof(float));
    for (const Algorithm algorithm : kAlgorithms) {
      const double alone_s = reduction_seconds(algorithm, cluster, parameters, bytes);
      for (const double share : {0.1, 0.5, 2.0}) {
        StepShape shape;
        shape.gradient_bytes = kBuckets * bytes;
        shape.bucket_bytes = bytes;
        shape.backward_s = kBuckets * share * alone_s;
        shape.overlap = true;
        const double simulated =
            MessageSimulation(algorithm, cluster, parameters, elements, kBuckets).run(share * alone_s);
        const double model = simulate_step(algorithm, cluster, parameters, shape).total_s;
        if (simulated == 0 && model == 0) continue;
        EXPECT_LT(model / simulated, kFactor) << name_of(algorithm, cluster) << ", " << share;
        EXPECT_LT(simulated / model, kFactor) << name_of(algorithm, cluster) << ", " << share;
      }
    }
  }
}

// On the wire the model knows of no queue before a receiver: results go to the first member first, from all
// owners at once. That is up to a third of the time, if nothing but the wire costs any.
constexpr Setting kSettings[] = {
    {"latency", 3e-6, 0, 0, 0, 1.001},          {"overhead", 0, 1e-6, 0, 0, 1.05},
    {"memory", 0, 0, 1e-10, 0, 1.15},           {"wire", 0, 0, 0, 8e-11, 1.5},
    {"network", 3e-6, 2e-6, 6e-11, 8e-11, 1.1}, {"slow_network", 3e-5, 1e-6, 1e-10, 8e-9, 1.5},
};
INSTANTIATE_TEST_SUITE_P(, TheModel, ::testing::ValuesIn(kSettings),
                         [](const auto& which) { return std::string(which.param.name); });

}  // namespace
