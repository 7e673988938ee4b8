#include "tests/simulation/run_seed.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/registry/job_hash.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/narrator.hpp"
#include "tests/support/faulty_disk.hpp"

namespace muster::simulation {

namespace {

using std::chrono::seconds;

constexpr auto kPartingPatience = seconds(400);  // for the last process to end: two connections' time-outs
constexpr std::uint64_t kTwiceOneIn = 16;

// Beyond it a run goes in circles. What members say to each other while they wait grows with their number:
// where a model hangs everywhere, a run of 23 replicas evicts three times as many before it gives up, one
// each patience.
std::uint64_t deliveries_max(const Job& job) {
  return 3'000'000 * std::max<std::uint64_t>(1, job.cluster.replicas / 4);
}

// Begins each fault at its moment, and ends it; knows whether one lasts.
class Schedule final : public Watch {
 public:
  Schedule(const Plan& plan, Cluster& cluster, Invariants& invariants, Tally& tally, std::ostream* trace)
      : cluster_(cluster),
        invariants_(invariants),
        tally_(tally),
        trace_(trace),
        patience_(plan.job.cluster.detect.patience) {
    for (const Fault& fault : plan.faults) waiting_.push_back(fault);
    moment("start");
  }

  bool calm() const { return lasting_ == 0; }
  /// Nothing more begins, and what lasts is mended.
  void mend_all() {
    waiting_.clear();
    over_ = true;
    for (const auto& mend : std::exchange(mends_, {})) mend();
  }

  void record(ProcessId, std::uint32_t, const RoundRecord& record) override {
    if (is_recorded(record.kind)) moment("commit");
  }
  void sent(ProcessId, ProcessId, const caf::message& message) override {
    moment("message");
    if (message.match_elements<Close>()) moment("close");
    if (message.match_elements<Closed>()) moment("closed");
    if (message.match_elements<Install>()) moment("install");
    if (message.match_elements<Begin>()) moment("begin");
    if (message.match_elements<CaughtUp>()) moment("caught-up");
    if (message.match_elements<Checkpointed>()) moment("checkpointed");
  }
  void arrived_in_place(ProcessId process, const Frame& frame) override {
    owner_ = NodeName{false, frame.from}.text();
    moment("lent to " + cluster_.world().name(process));
  }
  void event(const Event& event) override {
    if (event.name == "restarted" || event.name == "view") moment(event.name);
  }

 private:
  void moment(const std::string& what) {
    const std::uint64_t times = ++moments_[what];
    for (auto fault = waiting_.begin(); fault != waiting_.end();) {
      if (fault->moment.what != what || fault->moment.nth != times) {
        ++fault;
        continue;
      }
      if (fault->kind == "sever" && what.rfind("lent to ", 0) == 0)
        fault->b = owner_, fault->costs.insert(owner_);
      cluster_.world().after(fault->moment.later, [this, now = *fault] { begin(now); });
      fault = waiting_.erase(fault);
    }
  }

  // How long each call takes.
  static Nanoseconds slowness_of(const Fault& fault) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(fault.strength));
  }

  // A disk that answers nobody any more costs newcomers, too.
  void add_newcomers(Fault& fault) const {
    if (fault.kind != "disk-hangs" || !fault.a.empty()) return;
    for (const std::string& who : cluster_.nodes()) {
      if (who.starts_with("replica")) fault.costs.insert(who);
    }
  }

  void begin(Fault fault) {
    if (over_) return;
    const FaultKind& kind = fault_kind(fault.kind);
    add_newcomers(fault);
    const bool of_a_node = fault.a.rfind("replica", 0) == 0 || fault.a.rfind("loader ", 0) == 0;
    if (of_a_node && !cluster_.alive(fault.a)) return tally_.count("fault: too late");
    tally_.count("fault: " + fault.kind);
    if (trace_) *trace_ << stamp(cluster_.world().now()) << "FAULT " << fault.text() << "\n";
    for (const std::string& who : fault.costs) invariants_.excuse(who);
    if (fault.kind == "disk-away") invariants_.disk_away(fault.lasts);
    // Runs here wait for the folder for few seconds: one that is slow may be too slow. What it is asked for
    // at the end of that time it answers later: first the marks, then the list.
    if (fault.kind == "disk-slow") invariants_.disk_away(fault.lasts + 2 * slowness_of(fault));
    if (fault.kind == "journal-full") invariants_.journal_full(fault.lasts);
    add_silences(fault);
    invariants_.disturbed();
    invariants_.fault_begun(fault);
    if (fault.kind.rfind("coordinator-cut", 0) == 0) invariants_.cut_from_coordinator(fault.costs);
    cluster_.on_behalf_of(++begun_);
    kind.begin(cluster_, fault);
    if (!kind.end) return;
    ++lasting_;
    const std::size_t number = mends_.size();
    mends_.push_back([this, fault, number = begun_] { mend(fault, number); });
    cluster_.world().after(fault.lasts, [this, number] {
      if (number < mends_.size()) std::exchange(mends_[number], [] {})();
    });
  }

  // One silence of a node and one of the coordinator's own link, each too short to cost anything, may be one
  // long silence of the node alone.
  void add_silences(const Fault& fault) {
    const Nanoseconds now = cluster_.world().now();
    if (fault.kind == "coordinator-cut-off" || fault.kind == "coordinator-gives-up") {
      cut_until_ = now + fault.lasts;
      for (const auto& [who, until] : silent_until_) {
        if (now < until + patience_) invariants_.excuse(who);
      }
    } else if (fault.kind == "cut-off-short" || fault.kind == "pause-short") {
      silent_until_[fault.a] = now + fault.lasts;
      if (cut_until_ && now < *cut_until_ + patience_) invariants_.excuse(fault.a);
    }
  }

  void mend(const Fault& fault, std::uint64_t number) {
    --lasting_;
    cluster_.on_behalf_of(number);
    if (trace_) *trace_ << stamp(cluster_.world().now()) << "MENDED " << fault.text() << "\n";
    fault_kind(fault.kind).end(cluster_, fault);
    invariants_.disturbed();
  }

  Cluster& cluster_;
  Invariants& invariants_;
  Tally& tally_;
  std::ostream* trace_;
  Nanoseconds patience_;
  std::map<std::string, Nanoseconds> silent_until_;
  std::optional<Nanoseconds> cut_until_;  // the coordinator from all
  std::vector<Fault> waiting_;
  std::map<std::string, std::uint64_t> moments_;
  std::vector<std::function<void()>> mends_;
  std::uint64_t begun_ = 0;
  int lasting_ = 0;
  bool over_ = false;
  std::string owner_;  // of the last borrowed buffer
};

// Until the run has ended, or something is wrong.
void run_to_the_end(Cluster& cluster, Invariants& invariants, const Schedule& schedule, const Plan& plan) {
  World& world = cluster.world();
  const auto ended = [&] { return cluster.report() || cluster.ended_unseen() || cluster.all_killed(); };
  while (!ended() && !invariants.over() && !invariants.wrong()) {
    if (world.deliveries() > deliveries_max(plan.job)) invariants.say({11, "the run goes in circles"});
    if (schedule.calm()) invariants.expect_progress(plan.patience);
    invariants.expect_leavers_gone();
    if (!cluster.step()) invariants.say({11, "nothing is left to happen, and the run has not ended"});
  }
}

// The coordinator's process is gone; every other one has to end, too.
void part(Cluster& cluster, Invariants& invariants, Schedule& schedule, const Job& job) {
  World& world = cluster.world();
  schedule.mend_all();
  cluster.end_coordinator();
  const Nanoseconds until = world.now() + kPartingPatience + job.cluster.orphan_after;
  while (!invariants.wrong() && cluster.nodes_alive() > 0 && world.now() < until && cluster.step()) {
  }
  invariants.expect_all_ended();
}

bool damages_checkpoints(const Plan& plan) {
  return std::ranges::any_of(plan.faults,
                             [](const Fault& each) { return each.kind == "damaged-checkpoints"; });
}

// What befalls a run that goes on from a checkpoint: nothing, or one replica is killed, or all machines lose
// their power, and it goes on once more.
class Relapse final : public Watch {
 public:
  Relapse(Dice& dice, const Job& job) : at_(dice.one_in(2) ? dice.between(1, 40) : 0), all_(dice.one_in(2)) {
    const ClusterConfig& cluster = job.cluster;
    const bool can_spare =
        cluster.on_loss == OnLoss::go_on && cluster.replicas > std::max(cluster.min_replicas, 1u);
    if (!all_ && !can_spare) at_ = 0;
    victim_ = NodeName{false, static_cast<std::uint32_t>(dice.below(cluster.replicas))}.text();
  }
  void record(ProcessId, std::uint32_t, const RoundRecord& record) override {
    if (is_recorded(record.kind)) ++commits_;
  }
  /// Whether it happens now.
  bool due() { return at_ > 0 && commits_ >= at_ && std::exchange(at_, 0) > 0; }
  std::string begin(Cluster& cluster) const {
    all_ ? cluster.kill_all(true) : cluster.crash(victim_, true);
    return all_ ? "resume: all machines lose their power" : "resume: a replica is killed";
  }

 private:
  std::uint64_t at_, commits_ = 0;
  bool all_;
  std::string victim_;
};

// Nothing is returned where all have lost their power.
std::optional<Wrong> go_on_once(const Plan& plan, const Registry& registry, const ClusterOptions& options,
                                Relapse& relapse, Tally& tally) {
  Watches watches;
  watches.add(relapse);
  Cluster cluster(plan.job, registry, options, &watches);
  cluster.start();
  while (!cluster.report() && !cluster.all_killed() &&
         cluster.world().deliveries() < deliveries_max(plan.job) && cluster.step()) {
    if (relapse.due()) tally.count(relapse.begin(cluster));
  }
  if (cluster.all_killed()) return std::nullopt;
  if (!cluster.report()) return Wrong{11, "the run that goes on from its last checkpoint does not end"};
  const Report& report = *cluster.report();
  if (!report.completed())
    return Wrong{11, "the run that goes on from its last checkpoint fails: " + report.reason};
  const bool drops = plan.job.cluster.straggler.action == StragglerAction::drop;
  Wrong wrong = drops ? ledger_rule(report) : report_rule(report, train_plainly(plan.job, registry));
  if (wrong) wrong.what = "gone on from its last checkpoint: " + wrong.what;
  return wrong;
}

// What a run that was told to end has kept is gone on from, and comes to the oracle's end. Where late
// gradients are dropped, what was decided is not known here.
Wrong go_on(const Plan& plan, const Registry& registry, const std::shared_ptr<FaultyDisk>& disk,
            Tally& tally) {
  disk->set_room(FaultyDisk::kNever);
  disk->set_read_only(false);
  ClusterOptions options = plan.cluster;
  options.disk = disk;
  options.resume = true;
  options.come_after.clear();  // whoever starts it again starts all nodes
  Dice dice(plan.seed * 0x2545f4914f6cdd1dull + 83);
  try {
    for (;;) {
      Relapse relapse(dice, plan.job);
      if (const auto wrong = go_on_once(plan, registry, options, relapse, tally)) return *wrong;
      disk->start_again();
    }
  } catch (const std::exception& error) {
    if (damages_checkpoints(plan)) return {};
    return {8, std::string("its last checkpoint cannot be gone on from: ") + error.what()};
  }
}

Wrong go_on_from(const std::string& file, const Plan& plan, const Registry& registry,
                 const std::vector<std::shared_ptr<FaultyDisk>>& disks, Tally& tally) {
  const auto disk = std::ranges::find_if(disks, [&](const auto& each) { return each->holds(file); });
  if (disk == disks.end()) return {8, "the run has ended with " + file + ", which is not there"};
  return go_on(plan, registry, *disk, tally);
}

// A coordinator that came back when nobody looked for it any more.
bool says_to_go_on(const Report& report) {
  return report.reason.starts_with("no member of the last view has come back") &&
         report.reason.ends_with("--resume");
}

bool has_wrong_bits(const Plan& plan) {
  return std::ranges::any_of(plan.faults, [](const Fault& each) {
    return each.kind.rfind("flip", 0) == 0 || each.kind.rfind("odd", 0) == 0;
  });
}

// A later checkpoint that no member could read, by one that is lost: nobody has compared what is in it, and
// `--resume` on another host goes on from it.
bool may_keep_unread_bits(const Plan& plan) {
  return has_wrong_bits(plan) &&
         std::ranges::any_of(plan.faults, [](const Fault& each) { return each.kind == "unshared-folder"; });
}

// Of a run that was killed as a whole, or that its nodes have given up, the last checkpoint is there.
Wrong go_on_from_newest(const Plan& plan, const Registry& registry, const std::shared_ptr<FaultyDisk>& disk,
                        const Invariants& invariants, std::optional<std::uint64_t> newest, Tally& tally) {
  const std::string hash = job_hash(plan.job, registry.declarations());
  const auto all = list_checkpoints(*disk, hash);
  if (all.empty()) {
    tally.count("run: is killed before its first checkpoint");
    if (invariants.told_of_checkpoint() && !damages_checkpoints(plan))
      return {8, "a checkpoint was told of, and none is left"};
    return {};
  }
  if (newest && all.back().step < *newest)
    return {8, "the checkpoint of step " + std::to_string(*newest) + " was told of, and that of step " +
                   std::to_string(all.back().step) + " is the newest that is left"};
  tally.count("run: goes on from a checkpoint after all were killed, or gave up");
  return go_on(plan, registry, disk, tally);
}

// What a pinned plan promises of its run.
void expect_promised_end(const Plan& plan, const Cluster& cluster, Invariants& invariants) {
  const auto& report = cluster.report();
  if (plan.completes && report && !report->completed())
    invariants.say({11, "the run is to complete, and has " + report->outcome + ": " + report->reason});
  if (plan.completes && !report) invariants.say({11, "the run is to complete, and does not end"});
  if (plan.keeps && report && !report->completed() && !report->kept)
    invariants.say({8, "the run is to keep its state, and has not: " + report->reason});
}

}  // namespace

RunResult run_plan(const Plan& plan, const Registry& registry, std::ostream* trace) {
  if (trace) *trace << plan.text();
  RunResult result;
  result.seed = plan.seed;
  Invariants invariants(
      plan.job, [&](const LeftOut& left_out) { return train_plainly(plan.job, registry, left_out); },
      result.tally);
  Watches watches;
  watches.add(invariants);
  std::shared_ptr<FaultyDisk> disk, spare;
  std::optional<Report::Kept> kept;
  bool came_too_late = false;
  std::optional<std::uint64_t> newest;
  {
    ClusterOptions options = plan.cluster;
    if (plan.disk) {
      options.disk = disk = std::make_shared<FaultyDisk>(options.seed);
      options.spare = spare = std::make_shared<FaultyDisk>(options.seed + 1);
    }
    Cluster cluster(plan.job, registry, options, &watches);
    invariants.look_at(cluster);
    Narrator narrator(cluster, trace);
    if (trace) watches.add(narrator);
    Schedule schedule(plan, cluster, invariants, result.tally, trace);
    watches.add(schedule);
    cluster.start();
    run_to_the_end(cluster, invariants, schedule, plan);
    if (cluster.report()) invariants.expect_good_end(*cluster.report());
    expect_promised_end(plan, cluster, invariants);
    if (!invariants.wrong()) part(cluster, invariants, schedule, plan.job);
    result.hash = cluster.world().hash();
    result.deliveries = cluster.world().deliveries();
    result.virtual_time = cluster.world().now();
    if (cluster.frames().revoked > 0) result.tally.count("frame: taken back while it was borrowed");
    newest = invariants.newest_durable();
    const std::string left = cluster.tear_down();
    invariants.expect_nothing_left(left);
    if (cluster.power_lost()) disk->start_again();
    // Or nobody had the time to find them.
    const bool unseen = cluster.all_killed() && has_wrong_bits(plan) && !invariants.told_that_all_go_back();
    if (options.disk && !unseen) invariants.expect_nothing_abandoned(*options.disk, registry);
    if (options.disk && !unseen) invariants.expect_checkpoints(options.disk, registry);
    if (options.disk && !cluster.all_killed()) invariants.expect_kept_by_orphans(*options.disk, registry);
    if (options.spare && !unseen) invariants.expect_checkpoints(options.spare, registry);
    if (!unseen) invariants.expect_last_checkpoint({options.disk, options.spare}, registry);
    if (cluster.all_killed() && !unseen && !invariants.wrong_bits_may_stay() && !invariants.wrong())
      invariants.say(go_on_from_newest(plan, registry, disk, invariants, newest, result.tally));
    if (cluster.report() && cluster.report()->outcome == "interrupted") kept = cluster.report()->kept;
    came_too_late = cluster.report() && says_to_go_on(*cluster.report());
  }
  if (came_too_late && !invariants.wrong() && !has_wrong_bits(plan)) {
    result.tally.count("run: its coordinator came too late");
    if (list_checkpoints(*disk, job_hash(plan.job, registry.declarations())).empty())
      invariants.say({8, "it is told to go on from a checkpoint, and none is there"});
    invariants.say(go_on_from_newest(plan, registry, disk, invariants, newest, result.tally));
  }
  if (kept && !invariants.wrong() && !invariants.bits_lost() && !may_keep_unread_bits(plan)) {
    result.tally.count("run: goes on from its last checkpoint");
    invariants.say(go_on(plan, registry, kept->folder.empty() ? disk : spare, result.tally));
  }
  if (!invariants.kept_file().empty() && !invariants.wrong() && !has_wrong_bits(plan)) {
    result.tally.count("run: goes on from before a step that was not finite");
    invariants.say(go_on_from(invariants.kept_file(), plan, registry, {disk, spare}, result.tally));
  }
  result.wrong = invariants.wrong();
  if (trace && result.wrong) *trace << "WRONG: " << result.wrong.what << "\n";
  return result;
}

RunResult run_plan_checked(const Plan& plan, const Registry& registry, std::ostream* trace) {
  RunResult result = run_plan(plan, registry, trace);
  if (result.wrong || plan.seed % kTwiceOneIn != 0) return result;
  const RunResult again = run_plan(plan, registry, nullptr);
  if (again.hash != result.hash || again.deliveries != result.deliveries)
    result.wrong = {13, "a second run of the seed took another sequence of events"};
  return result;
}

}  // namespace muster::simulation
