#include "tests/simulation/scale.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/simulation/cluster.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/support/linear_job.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kSteps = 6;
constexpr std::uint64_t kDeaths = 3;  // moments at which replicas die, a third of the tenth each
constexpr std::uint64_t kMessagesAReplicaMax = 16;  // of the coordinator, for one view change

// Everything is whole: no shard is short, none ends before the others.
Job job_of(std::uint32_t replicas) {
  Job job = testing::linear_job(
      {.samples = static_cast<std::int64_t>(replicas * kSteps), .inputs = 15, .outputs = 8, .seed = 1});
  job.name = "scale";
  job.train.shards = replicas;
  job.train.batch = 1;
  job.train.epochs = 1;
  job.train.evaluate = false;
  job.cluster.replicas = replicas;
  job.cluster.on_loss = OnLoss::go_on;
  job.cluster.detect.patience = milliseconds(10000);
  return job;
}

struct Cost {
  std::uint64_t frames = 0, frame_bytes = 0;      // of the data plane
  std::uint64_t messages = 0, message_bytes = 0;  // with the coordinator, without signs of life
};

Cost cost_of(const Cluster& cluster) {
  Cost cost;
  const SimulatedCounts frames = cluster.frames();
  cost.frames = frames.started;
  cost.frame_bytes = frames.bytes;
  for (const auto& [type, count] : cluster.control().counts()) {
    if (type == "muster::Heartbeat" || type == "muster::Pulse" || type == "muster::Progress") continue;
    cost.messages += count.messages;
    cost.message_bytes += count.bytes;
  }
  return cost;
}

Cost between(const Cost& from, const Cost& to) {
  return {to.frames - from.frames, to.frame_bytes - from.frame_bytes, to.messages - from.messages,
          to.message_bytes - from.message_bytes};
}

Cost most(const Cost& a, const Cost& b) {
  return {std::max(a.frames, b.frames), std::max(a.frame_bytes, b.frame_bytes),
          std::max(a.messages, b.messages), std::max(a.message_bytes, b.message_bytes)};
}

// Measures undisturbed steps, from one that all replicas have to the next, and view changes, from the first
// death to the view that is in force.
class Meter final : public Watch {
 public:
  explicit Meter(std::uint32_t replicas) : replicas_(replicas) {}
  void look_at(Cluster& cluster) { cluster_ = &cluster; }

  void record(ProcessId, std::uint32_t view, const RoundRecord& record) override {
    if (record.kind != RoundKind::train || record.weight == 0) return;
    if (record.step != step_ || view != view_) {
      step_ = record.step;
      view_ = view;
      have_ = 0;
    }
    if (++have_ < members_) return;
    const Cost now = cost_of(*cluster_);
    if (calm_) steps = most(steps, between(mark_, now));
    mark_ = now;
    calm_ = true;
    if (dead_ < replicas_ / 10 && changes < kDeaths) strike_ = true;
  }

  void event(const Event& event) override {
    if (event.name != "view") return;
    members_ = static_cast<std::uint64_t>(event.integer("members"));
    if (event.integer("view") == 1) return;
    change = most(change, between(mark_, cost_of(*cluster_)));
    ++changes;
    calm_ = false;
  }

  // Some die, spread over all, when a step is through.
  void strike() {
    if (!std::exchange(strike_, false)) return;
    mark_ = cost_of(*cluster_);
    calm_ = false;
    const std::uint32_t now = std::max<std::uint32_t>(1, replicas_ / 10 / kDeaths);
    for (std::uint32_t i = 0; i < now && dead_ < replicas_ / 10; ++i, ++dead_)
      cluster_->crash(NodeName{false, dead_ * 9 + 5}.text(), true);
  }

  Cost steps, change;
  std::uint64_t changes = 0;

 private:
  std::uint32_t replicas_;
  Cluster* cluster_ = nullptr;
  std::uint64_t members_ = 0, have_ = 0, step_ = 0;
  std::uint32_t view_ = 0, dead_ = 0;
  bool calm_ = false, strike_ = false;
  Cost mark_;
};

bool run_one(std::uint32_t replicas) {
  const Job job = job_of(replicas);
  const Registry registry = builtin_registry();
  const OracleResult oracle = train_plainly(job, registry);
  const auto began = std::chrono::steady_clock::now();
  ClusterOptions options;
  options.show_frames = false;
  options.pace.loading_max = std::chrono::microseconds(10);  // nobody starves
  Meter meter(replicas);
  Cluster cluster(job, registry, options, &meter);
  meter.look_at(cluster);
  cluster.start();
  while (!cluster.report() && cluster.world().now() < seconds(3600) && cluster.step()) meter.strike();
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const bool good = cluster.report() && cluster.report()->completed() &&
                    cluster.report()->weights_sha256 == oracle.weights_sha256;
  std::printf("%8u %8llu %10llu %12llu %8llu %10llu %10llu %12llu %8.1f  %s\n", replicas,
              static_cast<unsigned long long>(meter.steps.frames),
              static_cast<unsigned long long>(meter.steps.frame_bytes),
              static_cast<unsigned long long>(meter.steps.messages),
              static_cast<unsigned long long>(meter.changes),
              static_cast<unsigned long long>(meter.change.frames),
              static_cast<unsigned long long>(meter.change.messages),
              static_cast<unsigned long long>(meter.change.message_bytes), wall_s, good ? "ok" : "FAILED");
  std::fflush(stdout);
  const bool linear = meter.change.messages <= kMessagesAReplicaMax * replicas;
  if (good && !linear)
    std::printf("FAILED: a view change took more messages than %llu a replica\n",
                static_cast<unsigned long long>(kMessagesAReplicaMax));
  if (good && meter.steps.messages > 0) std::printf("FAILED: a step needs the coordinator\n");
  return good && linear && meter.steps.messages == 0 && meter.changes > 0;
}

}  // namespace

bool show_scale(const std::vector<std::uint32_t>& replicas) {
  std::printf("%8s | %-31s | %-50s | %s\n", "", "a step", "a view change, some of a tenth dead", "");
  std::printf("%8s %8s %10s %12s %8s %10s %10s %12s %8s\n", "replicas", "frames", "bytes", "coord. msgs",
              "changes", "frames", "coord. msgs", "coord. bytes", "wall s");
  bool good = true;
  for (const std::uint32_t size : replicas) good = run_one(size) && good;
  return good;
}

}  // namespace muster::simulation
