#include "tests/simulation/plan.hpp"

#include <algorithm>
#include <set>

#include "muster/job_file.hpp"
#include "tests/simulation/plan_dice.hpp"
#include "tests/simulation/plan_ending.hpp"
#include "tests/simulation/plan_idle.hpp"
#include "tests/simulation/plan_loaders.hpp"
#include "tests/simulation/plan_start.hpp"
#include "tests/simulation/plan_together.hpp"

namespace muster::simulation {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

OptimizerConfig draw_optimizer(Dice& dice) {
  OptimizerConfig optimizer;
  optimizer.learning_rate.initial = 0.02;
  if (dice.one_in(3)) optimizer.learning_rate.warm_up = dice.between(1, 8);
  switch (dice.below(4)) {
    case 0:
      break;  // plain descent
    case 1:
      optimizer.momentum = 0.9;
      optimizer.nesterov = dice.one_in(2);
      break;
    case 2:
      optimizer.kind = OptimizerKind::adam;
      break;
    default:
      optimizer.kind = OptimizerKind::adamw;
      optimizer.weight_decay = 0.01;
  }
  return optimizer;
}

// Few samples to many: shards that are empty, uneven or one micro-batch long are as common as others.
void draw_data(Dice& dice, Job& job) {
  const std::uint64_t inputs = dice.between(1, 6), outputs = dice.between(1, 3);
  std::uint64_t samples = 1 + dice.below(std::uint64_t{job.train.shards} * job.train.batch * 6);
  if (dice.one_in(6)) samples = dice.between(1, job.train.shards);
  job.model.name = "linear";
  job.model.options = {{"inputs", Option(number(inputs))}, {"outputs", Option(number(outputs))}};
  job.data.source = "synthetic";
  job.data.options = {{"samples", Option(number(samples))},
                      {"inputs", Option(number(inputs))},
                      {"outputs", Option(number(outputs))},
                      {"test_samples", Option(number(dice.one_in(4) ? 0 : dice.between(1, 30)))},
                      {"seed", Option(number(dice.below(1000)))}};
  job.data.prefetch = static_cast<std::uint32_t>(dice.between(1, 4));
  if (dice.one_in(4)) job.data.shuffle = false;
  if (dice.one_in(6) && samples > 4) job.data.skip = dice.below(samples / 2);
  if (dice.one_in(6)) job.data.take = dice.between(1, samples + 3);
  job.train.remainder =
      std::vector{Remainder::keep, Remainder::keep, Remainder::pad, Remainder::drop}[dice.below(4)];
  const std::uint64_t left = samples - job.data.skip;
  const std::uint64_t used = std::min(left, job.data.take.value_or(left));
  if (job.train.remainder == Remainder::drop && used < std::uint64_t{job.train.shards} * job.train.batch)
    job.train.remainder = Remainder::keep;  // nothing would be left to train on
}

// Few make most of what can go wrong, and take the least time. From dice of its own.
std::uint32_t many_replicas(std::uint64_t seed, std::uint32_t few) {
  Dice dice = dice_of(seed, DiceOf::many_replicas);
  return dice.one_in(40) ? static_cast<std::uint32_t>(dice.between(7, 24)) : few;
}

Job draw_job(Dice& dice, const PlanOptions& options, std::uint64_t seed) {
  Job job;
  job.name = "simulated";
  job.seed = dice.below(1000);
  const auto few = static_cast<std::uint32_t>(dice.between(1, 6));
  job.cluster.replicas = options.nodes.value_or(many_replicas(seed, few));
  job.train.shards = static_cast<std::uint32_t>(dice.between(job.cluster.replicas, job.cluster.replicas + 5));
  job.train.batch = static_cast<std::uint32_t>(dice.between(1, 5));
  draw_data(dice, job);
  if (dice.one_in(4)) {
    job.train.steps = dice.between(1, 20);
    job.data.repeat = dice.between(1, 4);
  } else {
    job.train.epochs = dice.between(1, 4);
  }
  job.train.evaluate = !dice.one_in(4);
  job.train.optimizer = draw_optimizer(dice);
  job.cluster.loaders = static_cast<std::uint32_t>(dice.one_in(2) ? 0 : dice.between(1, 2));
  job.cluster.on_loss = OnLoss::go_on;
  job.cluster.min_replicas = dice.one_in(8) ? std::min(2u, job.cluster.replicas) : 1;
  job.cluster.detect.heartbeat = milliseconds(dice.between(20, 100));
  job.cluster.start_patience = milliseconds(dice.between(3000, 15000));
  job.cluster.give_up_after = milliseconds(dice.between(3000, 40000));
  job.cluster.detect.patience = job.cluster.detect.heartbeat * dice.between(5, 30);
  return job;
}

ClusterOptions draw_cluster(Dice& dice, const Job& job, std::uint64_t seed) {
  ClusterOptions cluster;
  cluster.seed = seed;
  cluster.pace.compute_max = microseconds(dice.between(100, 20000));
  cluster.pace.loading_max = microseconds(dice.between(10, 5000));
  cluster.by_hand = dice.one_in(2);
  if (dice.one_in(2)) cluster.lag_max = microseconds(dice.between(50, 3000));
  if (Dice own = dice_of(seed, DiceOf::long_lag); own.one_in(10))
    cluster.lag_max = microseconds(own.between(3000, 10000));
  if (dice.one_in(2)) cluster.network.at_once_bytes = dice.between(0, 200);
  cluster.network.delay_max = microseconds(dice.between(20, 1000));
  cluster.network.notice_max = milliseconds(dice.between(1, 800));
  cluster.network.again_max = std::min<Nanoseconds>(milliseconds(400), job.cluster.detect.patience / 8);
  cluster.control.again_max = cluster.network.again_max;
  return cluster;
}

// Now and then at any time, more often at a moment at which something else happens.
Moment draw_moment(Dice& dice, Nanoseconds span) {
  static const std::vector<std::string> kinds{"commit",  "commit", "close",       "closed",
                                              "install", "begin",  "checkpointed"};
  static const std::vector<Nanoseconds> latest{std::chrono::microseconds(60), milliseconds(1),
                                               milliseconds(20)};
  if (dice.one_in(4)) return {"start", 1, dice.between(Nanoseconds(0), span)};
  const std::string& what = dice.one_of(kinds);
  const std::uint64_t nth = what == "commit" ? dice.between(1, 30) : dice.between(1, 4);
  return {what, nth, dice.between(Nanoseconds(0), dice.one_of(latest))};
}

// The coordinator can die at every message.
Moment draw_moment_of(Dice& dice, const std::string& kind, Nanoseconds span) {
  Moment moment = draw_moment(dice, span);
  if (kind == "join-unlike" && moment.what != "begin") return {"begin", dice.between(1, 12), moment.later};
  if (kind == "coordinator-old-journal" && !dice.one_in(4))  // so that the copy is of another view
    return {"view", dice.between(2, 3), moment.later};
  const bool cut = kind.starts_with("coordinator-cut-");
  if (kind == "coordinator-mid-commit" && dice.one_in(2)) return {"message", dice.between(1, 12), {}};
  if (!cut && kind.rfind("coordinator-", 0) == 0 && dice.one_in(2))
    return {"message", dice.between(1, dice.one_in(2) ? 30 : 400), {}};
  return moment;
}

// Faults that leave the run enough to go on with, but for a few plans, and for more where that means a pause.
// Two harmless ones in a row can be as bad as one that costs: the second one is taken to.
class FaultBudget {
 public:
  FaultBudget(Dice& dice, const Job& job)
      : replicas_(dice.one_in(job.cluster.min_replicas > 1 ? 3 : 25)
                      ? job.cluster.replicas
                      : job.cluster.replicas - job.cluster.min_replicas),
        loaders_(job.cluster.on_loader_loss == OnLoaderLoss::load_here ? job.cluster.loaders
                 : job.cluster.loaders > 0                             ? job.cluster.loaders - 1
                                                                       : 0) {}

  bool take(Fault& fault) {
    for (const std::string& who : {fault.a, fault.b}) {
      if (touched_.count(who) == 0) continue;
      if (who == Cluster::kCoordinator) return false;
      fault.costs.insert(who);
    }
    std::set<std::string> spent = spent_;
    spent.insert(fault.costs.begin(), fault.costs.end());
    const auto loaders = static_cast<std::size_t>(std::count_if(
        spent.begin(), spent.end(), [](const std::string& who) { return who.rfind("loader", 0) == 0; }));
    if (!fault.costs.empty() && (loaders > loaders_ || spent.size() - loaders > replicas_)) return false;
    spent_ = spent;
    for (const std::string& who : {fault.a, fault.b}) {
      if (who.rfind("replica", 0) == 0 || who.rfind("loader ", 0) == 0 || who == Cluster::kCoordinator)
        touched_.insert(who);
    }
    return true;
  }

 private:
  std::size_t replicas_, loaders_;
  std::set<std::string> spent_;
  std::set<std::string> touched_;
};

// Where two coordinators live, nothing else happens to either of them, or to their journal.
void keep_second_coordinator_alone(std::vector<Fault>& faults) {
  const auto second = std::ranges::find(faults, "coordinator-second", &Fault::kind);
  if (second == faults.end()) return;
  const Fault kept = *second;
  std::erase_if(faults, [](const Fault& fault) {
    return fault.kind.rfind("coordinator-", 0) == 0 || fault.kind == "journal-full";
  });
  faults.push_back(kept);
}

// So that the copy is of another view.
void change_view_before_old_journal(Dice& dice, const Scene& scene, std::vector<Fault>& faults) {
  if (std::ranges::find(faults, "coordinator-old-journal", &Fault::kind) == faults.end()) return;
  Fault join;
  join.kind = "join";
  fault_kind(join.kind).draw(dice, scene, join);
  join.moment = {"begin", dice.between(1, 4), dice.between(Nanoseconds(0), Nanoseconds(milliseconds(5)))};
  faults.push_back(std::move(join));
}

bool of_bits(const std::string& kind) {
  const auto kinds = faults_of_bits();
  return std::any_of(kinds.begin(), kinds.end(), [&](const FaultKind& each) { return each.name == kind; });
}

std::vector<Fault> draw_faults(Dice& dice, const Scene& scene, const PlanOptions& options, Nanoseconds span) {
  std::vector<Fault> faults;
  if (options.faults.empty()) return faults;
  FaultBudget budget(dice, scene.job);
  const std::uint64_t wanted = dice.below(7);
  for (std::uint64_t i = 0; i < 3 * wanted && faults.size() < wanted; ++i) {
    const FaultKind& kind = fault_kind(dice.one_of(options.faults));
    Fault fault;
    fault.kind = kind.name;
    if (of_bits(kind.name) || !kind.draw(dice, scene, fault)) continue;
    fault.moment = draw_moment_of(dice, kind.name, span);
    if (budget.take(fault)) faults.push_back(std::move(fault));
  }
  keep_second_coordinator_alone(faults);
  if (may_give_a_number_twice(faults))
    std::erase_if(faults, [](const Fault& fault) { return fault.kind == "coordinator-old-journal"; });
  change_view_before_old_journal(dice, scene, faults);
  return faults;
}

// What processes of one host read in each other's memory. A replica may stand still while it does, and go on
// with that when it wakes; or the owner lets go, and the reader does not know.
void draw_borrows(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::borrows);
  if (!dice.one_in(2)) return;
  plan.cluster.network.supports_borrowing = true;
  plan.cluster.network.at_once_bytes = dice.between(0, 40);
  const auto patience = plan.job.cluster.detect.patience;
  for (Fault& fault : plan.faults) {
    const bool of_replica = fault.a.rfind("replica", 0) == 0;
    if (of_replica && fault.costs.size() == 2 && dice.one_in(2)) fault.kind = "sever";
    const bool ends_one = fault.kind == "crash" || fault.kind == "power" || fault.kind == "restart";
    if (of_replica && ends_one && !dice.one_in(4))
      fault.kind = "pause-long",
      fault.lasts = dice.between(Nanoseconds(patience * 2), Nanoseconds(patience * 4));
    if (fault.kind != "pause-long" && fault.kind != "sever") continue;
    fault.moment = {"lent to " + fault.a, dice.between(1, 8), dice.between(Nanoseconds(0), microseconds(20))};
  }
}

// Who stands still with all others is late for none of them.
void draw_suspended(std::uint64_t seed, Plan& plan) {
  const auto suspends = [](const Fault& fault) { return fault.kind.starts_with("suspend"); };
  if (std::ranges::none_of(plan.faults, suspends)) return;
  Dice dice = dice_of(seed, DiceOf::suspended);
  StragglerConfig& straggler = plan.job.cluster.straggler;
  straggler.action = dice.one_of(std::vector{StragglerAction::evict, StragglerAction::drop});
  straggler.patience = milliseconds(dice.between(1000, 5000));
  if (!std::ranges::all_of(plan.faults, suspends)) return;
  // Replicas wait for loaders most of the time, and for none of them as long as that.
  straggler.action = StragglerAction::evict;
  straggler.patience = milliseconds(dice.between(4000, 8000));
  plan.job.cluster.loaders = std::max(plan.job.cluster.loaders, 2u);
  plan.job.data.prefetch = 1;
  plan.cluster.pace.loading_max =
      std::min<Nanoseconds>(straggler.patience / (6 * plan.job.train.shards), milliseconds(250));
}

// Only where a replica is slow does it matter what is done about it.
void draw_straggler_action(std::uint64_t seed, Plan& plan) {
  const bool slow = std::any_of(plan.faults.begin(), plan.faults.end(),
                                [](const Fault& fault) { return fault.kind == "slow-replica"; });
  if (!slow) return;
  Dice dice = dice_of(seed, DiceOf::straggler_action);
  static const std::vector<StragglerAction> actions{StragglerAction::wait, StragglerAction::shed,
                                                    StragglerAction::speculate, StragglerAction::speculate};
  plan.job.cluster.straggler.action = dice.one_of(actions);
  plan.job.cluster.straggler.patience = milliseconds(dice.between(20, 400));
  if (dice.one_in(2)) plan.job.cluster.straggler.action = StragglerAction::drop;
  if (dice.one_in(8)) plan.job.cluster.straggler.action = StragglerAction::evict;
}

// From dice of its own, too.
void draw_algorithm(std::uint64_t seed, Plan& plan) {
  static const std::vector<ReduceAlgorithm> algorithms{
      ReduceAlgorithm::automatic, ReduceAlgorithm::direct, ReduceAlgorithm::halving_doubling,
      ReduceAlgorithm::hierarchical, ReduceAlgorithm::one_shot};
  Dice dice = dice_of(seed, DiceOf::algorithm);
  plan.job.reduce.algorithm = dice.one_of(algorithms);
  if (dice.one_in(2)) plan.job.reduce.bucket_bytes = 64;
  if (dice.one_in(4)) plan.job.train.wire = GradientWire::bfloat16;
  if (plan.job.train.wire == GradientWire::bfloat16 && dice.one_in(3))
    plan.job.train.wire = GradientWire::float16;
}

void draw_checkpoints(Dice& dice, Plan& plan) {
  if (dice.one_in(3)) return;
  plan.job.checkpoint = {"disk", {dice.between(1, 6), Interval::Unit::steps}, 3};
  plan.disk = true;
}

// Likewise. What goes back to a checkpoint decides anew which gradients are dropped, so the two are not drawn
// together.
void draw_sharding(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::sharding);
  if (dice.one_in(2) || plan.job.cluster.straggler.action == StragglerAction::drop) return;
  plan.job.train.shard_optimizer = true;
  if (plan.job.reduce.algorithm == ReduceAlgorithm::one_shot)  // it has no parts
    plan.job.reduce.algorithm = ReduceAlgorithm::automatic;
  draw_checkpoints(dice, plan);
}

// Nor is compression drawn with what is incompatible with it (config/schema/exclusions.cpp).
void draw_compression(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::compression);
  const StragglerAction action = plan.job.cluster.straggler.action;
  const bool may = !plan.job.train.shard_optimizer && action != StragglerAction::drop &&
                   action != StragglerAction::speculate;
  if (!may || dice.one_in(3)) return;
  CompressionConfig& compression = plan.job.train.compression;
  compression.kind = CompressionKind::top_k;
  compression.ratio = dice.one_of(std::vector{0.05, 0.2, 0.5, 1.0});
  compression.second_copy = dice.one_of(std::vector{SecondCopy::same_host, SecondCopy::any_host});
  draw_checkpoints(dice, plan);
  if (dice.one_in(2)) return;
  compression.kind = CompressionKind::powersgd;
  compression.ratio = CompressionConfig{}.ratio;
  compression.rank = static_cast<std::uint32_t>(dice.between(1, 2));
}

// Bounds of which some hold in every step, some in few. A sharded optimizer has no whole gradient.
void draw_clipping(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::clipping);
  if (plan.job.train.shard_optimizer || !dice.one_in(3)) return;
  plan.job.train.clip_norm = dice.one_of(std::vector{0.05, 0.5, 5.0});
}

// And how much of the steps' time a newcomer may take.
void draw_join_share(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::join_share);
  plan.job.cluster.join_share = dice.one_of(std::vector{0.01, 0.1, 0.1, 0.5, 1.0});
}

// GPUs do not do all that the host does.
void draw_gpus(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::gpus);
  const TrainConfig& train = plan.job.train;
  plan.cluster.gpus = dice.one_in(2) && !train.in_parts() && train.wire == GradientWire::float32;
  plan.cluster.carries_gpu_memory = plan.cluster.gpus && dice.one_in(2);
  plan.job.reduce.gpu_direct = plan.cluster.carries_gpu_memory && !dice.one_in(4);
}

// The run ends with the first node that it loses.
void draw_on_loss(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::on_loss);
  if (dice.one_in(40)) plan.job.cluster.on_loss = OnLoss::fail;
}

// Disks that take long, and little time for the last checkpoint.
void draw_pace_of_disks(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::pace_of_disks);
  if (dice.one_in(6)) plan.cluster.pace.disk_max = milliseconds(dice.between(50, 400));
  if (dice.one_in(8)) plan.job.checkpoint.grace = milliseconds(dice.between(300, 5000));
}

// A coordinator that was started anew has nobody at first to compare a newcomer with.
void draw_unlike(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::unlike);
  const std::string kind = "join-unlike";
  if (!plan.cluster.by_hand || plan.job.cluster.replicas < 2 || !dice.one_in(3) ||
      std::find(options.faults.begin(), options.faults.end(), kind) == options.faults.end())
    return;
  for (Fault& fault : plan.faults) {  // before the first view
    if (fault.kind == kind && dice.one_in(2))
      fault.moment = {"start", 1, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(20)))};
  }
  const bool restarts = std::ranges::any_of(
      plan.faults, [](const Fault& fault) { return fault.kind.rfind("coordinator-", 0) == 0; });
  if (!restarts) return;
  Fault fault;
  fault.kind = kind;
  fault.moment = {"restarted", 1, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(100)))};
  plan.faults.push_back(std::move(fault));
}

// Nodes look for a coordinator that is late for seconds. Who holds the whole state then writes it.
void draw_orphan_after(std::uint64_t seed, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::orphan_after);
  const auto is_late = [](const Fault& fault) { return fault.kind == "coordinator-late"; };
  if (std::ranges::none_of(plan.faults, is_late)) return;
  const bool before_its_end = dice.one_in(2);  // that of the job
  plan.job.cluster.orphan_after =
      before_its_end ? milliseconds(dice.between(200, 800)) : milliseconds(dice.between(1000, 12000));
  if (before_its_end) {
    plan.job.train.shard_optimizer = false;
    plan.job.train.compression = {};
    if (plan.job.train.epochs) plan.job.train.epochs = std::max<std::uint64_t>(*plan.job.train.epochs, 12);
  }
  if (!plan.disk && !dice.one_in(4)) {
    plan.job.checkpoint = {"disk", {dice.between(1, 40), Interval::Unit::steps}, 3};
    plan.disk = true;
  }
  for (Fault& fault : plan.faults) {
    if (is_late(fault)) fault_kind(fault.kind).draw(dice, {plan.job, plan.cluster}, fault);
  }
}

// Where a link is cut for good, its end may be the first that tells of it.
Nanoseconds patience_for(const Plan& plan) {
  const bool cut =
      std::ranges::any_of(plan.faults, [](const Fault& each) { return each.kind == "loader-link"; });
  const Nanoseconds quiet = cut ? plan.cluster.network.stall_max : Nanoseconds(seconds(20));
  return quiet + plan.job.cluster.detect.patience * 2;
}

}  // namespace

bool may_give_a_number_twice(const std::vector<Fault>& faults) {
  const auto any = [&](const std::string& kind) {
    return std::ranges::any_of(faults, [&](const Fault& fault) { return fault.kind.starts_with(kind); });
  };
  return any("coordinator-old-journal") && (any("coordinator-cut-") || any("coordinator-gives-up"));
}

Plan draw_plan(std::uint64_t seed, const PlanOptions& options) {
  Dice dice = dice_of(seed, DiceOf::plan);
  Plan plan;
  plan.seed = seed;
  plan.job = draw_job(dice, options, seed);
  draw_loaders(seed, plan.job);
  draw_source(seed, plan.job);
  plan.cluster = draw_cluster(dice, plan.job, seed);
  const Nanoseconds span = (plan.cluster.pace.compute_max + milliseconds(3)) * dice.between(5, 60);
  plan.faults = draw_faults(dice, {plan.job, plan.cluster}, options, span);
  draw_straggler_action(seed, plan);
  draw_borrows(seed, plan);
  draw_algorithm(seed, plan);
  draw_sharding(seed, plan);
  draw_compression(seed, plan);
  draw_clipping(seed, plan);
  draw_join_share(seed, plan);
  draw_gpus(seed, plan);
  draw_ending(seed, options, plan);
  draw_stuck_after(seed, plan);
  draw_suspended(seed, plan);
  draw_unlike(seed, options, plan);
  draw_bits(seed, options, plan);
  draw_together(seed, options, plan);
  draw_not_finite(seed, options, plan);
  draw_pace_of_disks(seed, plan);
  draw_on_loss(seed, plan);
  draw_orphan_after(seed, plan);
  draw_start(seed, plan);
  replace_idle_faults(plan);
  plan.patience = patience_for(plan);
  return plan;
}

std::string Plan::text() const {
  std::string said = "seed " + std::to_string(seed) + ": " + std::to_string(job.cluster.replicas) +
                     " replicas, " + std::to_string(job.cluster.loaders) + " loaders\n" + to_toml(job);
  for (const Fault& fault : faults) said += "fault: " + fault.text() + "\n";
  return said;
}

}  // namespace muster::simulation
