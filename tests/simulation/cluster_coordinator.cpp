// The coordinators of the simulated cluster: the one that nodes can reach, those that come after it, and one
// that lives on beside the one that took its place.
#include <algorithm>
#include <utility>

#include "actors/registry/job_hash.hpp"
#include "muster/job_file.hpp"
#include "muster/run.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/slow_folder.hpp"

namespace muster::simulation {

namespace {

const std::string kUsurped = "coordinator before";

CoordinatorSetup coordinator_setup(const Job& job, const Registry& registry) {
  CoordinatorSetup setup;
  setup.job = job;
  setup.job_toml = to_toml(job);
  setup.job_hash = job_hash(job, registry.declarations());
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot)
    setup.placement.devices.push_back("cpu:0");
  setup.placement.loader_threads = 1;
  return setup;
}

// Its report at the end is none of the run.
bool taken_over(const Report& report) {
  return report.reason.rfind("another coordinator has taken", 0) == 0;
}

bool gave_up_silence(const Report& report) {
  return report.reason.rfind("no message from any member", 0) == 0;
}

}  // namespace

void Cluster::start_coordinator() {
  const ProcessId process = coordinator_process_ = world_->add_process(kCoordinator);
  CoordinatorSetup setup = coordinator_setup(job_, registry_);
  setup.on_end = [this, process](const Report& report) {
    if (world_->alive(process)) coordinator_ended(process, report);
  };
  setup.on_event = [this, process](const Event& event) {
    if (!world_->alive(process)) return;
    world_->trace(to_json_line(event));
    if (process != coordinator_process_) return;
    if (event.name == "view" && two_coordinators()) second_leads_ = true;
    if (watch_) watch_->event(event);
  };
  setup.by_hand = options_.by_hand;
  setup.start_is_bounded = start_is_bounded();
  setup.reaps = options_.reaps && !options_.by_hand;
  // In a run the folder holds the journal, too: one that is started again has it mounted.
  if (*away_from_coordinator_ == Away::unmounted) *away_from_coordinator_ = Away::no;
  if (options_.disk) {
    setup.checkpoints =
        std::make_shared<SlowFolder>(*world_, mounted(std::make_shared<bool>(false), away_from_coordinator_),
                                     folder_takes_, [this, process] { return world_->alive(process); });
  }
  if (options_.resume) setup.resume = find_resume(job_, registry_, options_.disk);
  if (options_.by_hand) {
    setup.journal = std::make_shared<MemoryJournal>(
        journal_, [this, process] { return world_->alive(process); },
        [this, process] { usurped(process) ? end_usurped() : crash_coordinator(); });
  }
  world_->as(process, [&] { coordinator_ = system_->spawn(coordinator, std::move(setup)); });
}

// The report of one that another has taken the place of counts, unless it has lost its nodes to that one.
void Cluster::coordinator_ended(ProcessId process, const Report& report) {
  const bool usurped_ends = usurped(process);
  const bool lost_to_other = taken_over(report) || (usurped_ends && gave_up_silence(report));
  if (usurped_ends && lost_to_other) return end_usurped();
  if (gave_up_silence(report) && !two_coordinators() && std::exchange(starts_again_after_silence_, false)) {
    return world_->after(Nanoseconds(0), [this, process] {  // its last write to the journal follows
      end_process(process, coordinator_, true);
      start_after_silence(process);
    });
  }
  const bool told_to_end = report.outcome == "interrupted" && journal_->writes > writes_before_usurper_;
  const bool leads = !two_coordinators() || second_leads_;
  if (usurped_ends || report.completed() || told_to_end || (leads && !lost_to_other)) {
    report_ = report;
    return;
  }
  // Nobody came to it, or the other one has written to the journal: that one goes on.
  end_process(process, coordinator_, true);
  if (two_coordinators()) return reinstate();
  start_again(process);
}

void Cluster::end_process(ProcessId process, const coordinator_actor& actor, bool told) {
  control_->ended(process, told);
  world_->end(process);
  caf::anon_send_exit(actor, caf::exit_reason::kill);
}

void Cluster::start_again(ProcessId process) {
  const auto start = [this, process, back_after = coordinator_back_after_] {
    if (over_ || coordinator_alive()) return;
    control_->machine_is_back(process, back_after);
    ended_unseen_ = journal_->entry && journal_->entry->ended;
    if (!ended_unseen_) start_coordinator();
  };
  world_->after(coordinator_back_after_, [this, start] { when_awake(start); });
}

// Whatever its journal says: steps that live replicas hold count more.
void Cluster::start_after_silence(ProcessId process) {
  const auto start = [this, process, back_after = coordinator_back_after_] {
    if (over_ || coordinator_alive()) return;
    control_->machine_is_back(process, back_after);
    start_coordinator();
  };
  world_->after(coordinator_back_after_, [this, start] { when_awake(start); });
}

void Cluster::crash_coordinator(bool told) {
  if (!coordinator_alive() || !options_.by_hand) return;
  const ProcessId process = coordinator_process_;
  end_process(process, coordinator_, told);
  // One that died before it wrote an entry has taken nothing over.
  if (two_coordinators() && journal_->writes == writes_before_usurper_) return reinstate();
  start_again(process);
}

// ---- two of them

void Cluster::start_second_coordinator(const std::string& cut_off) {
  if (!coordinator_alive() || !options_.by_hand || two_coordinators() || report_) return;
  if (journal_->entry && journal_->entry->ended) return;
  writes_before_usurper_ = journal_->writes;
  term_before_usurper_ = journal_->entry ? journal_->entry->term : 0;
  second_leads_ = false;
  usurped_process_ = coordinator_process_;
  usurped_ = coordinator_;
  world_->rename(usurped_process_, kUsurped);
  cut_usurped_from(cut_off, true);
  start_coordinator();
}

void Cluster::cut_usurped_from(const std::string& node, bool cut) {
  disturb_control(node, kUsurped, {.blocked = cut});
  disturb_control(kUsurped, node, {.blocked = cut});
}

void Cluster::end_usurped() {
  end_process(usurped_process_, usurped_, true);
  usurped_process_ = kNobody;
  usurped_ = nullptr;
}

void Cluster::reinstate() {
  coordinator_process_ = std::exchange(usurped_process_, kNobody);
  coordinator_ = std::exchange(usurped_, nullptr);
  world_->rename(coordinator_process_, kCoordinator);
}

void Cluster::disturb_coordinator(const std::string& node, const Disturbance& disturbance) {
  disturb_control(node, kCoordinator, disturbance);
  disturb_control(kCoordinator, node, disturbance);
}

void Cluster::cut_coordinator_from_all(bool cut) {
  if (cut)
    coordinator_cuts_.insert(fault_);
  else
    coordinator_cuts_.erase(fault_);
  for (const std::string& node : nodes()) disturb_coordinator(node, {.blocked = cut});
}

// Ways go by names.
void Cluster::cut_off_by_its_new_name(const std::string& node) {
  const std::uint64_t before = fault_;
  for (const std::uint64_t cut : coordinator_cuts_) {
    on_behalf_of(cut);
    disturb_coordinator(node, {.blocked = true});
  }
  on_behalf_of(before);
}

void Cluster::end_coordinator() {
  over_ = true;
  if (two_coordinators()) end_usurped();
  if (!coordinator_alive()) return;
  control_->ended(coordinator_process_, true);
  world_->end(coordinator_process_);
  caf::anon_send_exit(coordinator_, caf::exit_reason::user_shutdown);
}

void Cluster::kill_all(bool power) {
  all_killed_ = true;
  power_lost_ = power;
  end_coordinator();
  for (const std::string& name : nodes()) crash(name, true);
}

}  // namespace muster::simulation
