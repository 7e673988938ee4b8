// What can go wrong with the coordinator: its process, its link, its machine, and the disk of its journal.
#include "actors/rules/watch/return_time.hpp"
#include "tests/simulation/faults.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kSilent = 2;  // the strength of a journal's disk that answers nothing; 1: it is full

const auto kNothing = [](Cluster&, const Fault&) {};

// Until it is started anew.
bool draw_crash(Dice& dice, const Scene& scene, Fault& fault) {
  fault.lasts = dice.between(Nanoseconds(milliseconds(50)), Nanoseconds(seconds(dice.one_in(3) ? 8 : 1)));
  return scene.cluster.by_hand;
}

auto crash(JournalDisk::Death death) {
  return [death](Cluster& cluster, const Fault& fault) {
    cluster.set_coordinator_back_after(fault.lasts);
    if (death == JournalDisk::Death::none) return cluster.crash_coordinator();
    cluster.journal().death = death;
  };
}

std::vector<FaultKind> deaths_of_it() {
  return {
      {"coordinator-crash", "the coordinator is killed, and started anew", draw_crash,
       crash(JournalDisk::Death::none), kNothing},
      {"coordinator-torn", "the coordinator dies before its next write to the journal has any effect",
       draw_crash, crash(JournalDisk::Death::before), kNothing},
      {"coordinator-mid-commit", "the coordinator dies between its next write to the journal and its message",
       draw_crash, crash(JournalDisk::Death::behind), kNothing},
      {"coordinator-power", "the coordinator's machine is gone, nobody says so, and it is started anew",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.lasts = dice.between(Nanoseconds(milliseconds(50)), Nanoseconds(seconds(20)));
         return scene.cluster.by_hand;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.set_coordinator_back_after(fault.lasts);
         cluster.crash_coordinator(false);
       },
       kNothing},
      {"coordinator-late",
       "the coordinator is gone for about as long as its nodes look for it, and is started anew",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const Nanoseconds looked_for = scene.job.cluster.orphan_after;
         fault.a = Cluster::kCoordinator;
         fault.lasts = dice.between(looked_for * 3 / 4, 2 * looked_for);
         fault.strength = dice.one_in(2) ? 1 : 0;
         if (fault.strength == 0) fault.lasts += kUnheardMax;  // before that nobody looks for it
         return scene.cluster.by_hand;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.set_coordinator_back_after(fault.lasts);
         cluster.crash_coordinator(fault.strength > 0);
       },
       kNothing},
      {"coordinator-old-journal", "the coordinator is killed, and finds an older copy of its journal",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.strength = static_cast<double>(dice.between(1, 4));
         return draw_crash(dice, scene, fault);
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.set_coordinator_back_after(fault.lasts);
         cluster.crash_coordinator();
         cluster.journal().restore(static_cast<std::size_t>(fault.strength));
       },
       kNothing}};
}

// Nobody is to blame for its silence.
std::vector<FaultKind> silences() {
  const auto pause = [](Cluster& cluster, const Fault& fault) { cluster.pause(fault.a); };
  const auto resume = [](Cluster& cluster, const Fault& fault) { cluster.resume(fault.a); };
  return {{"coordinator-pause", "the coordinator stands still, for less than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = Cluster::kCoordinator;
             fault.lasts = short_time(dice, scene);
             return true;
           },
           pause, resume},
          {"coordinator-pause-long", "the coordinator stands still, for longer than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = Cluster::kCoordinator;
             fault.lasts = long_time(dice, scene);
             return true;
           },
           pause, resume},
          {"coordinator-stands", "the coordinator stands still, for longer than a node that leaves may take",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = Cluster::kCoordinator;
             fault.lasts = dice.between(Nanoseconds(seconds(15)), Nanoseconds(seconds(30)));
             return scene.cluster.by_hand;
           },
           pause, resume},
          {"coordinator-cut-off", "the coordinator is cut off from all nodes, for longer than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = Cluster::kCoordinator;
             fault.lasts = dice.one_in(3) ? dice.between(Nanoseconds(seconds(4)), Nanoseconds(seconds(12)))
                                          : long_time(dice, scene);
             return scene.cluster.by_hand && fault.lasts < scene.job.cluster.give_up_after / 2;
           },
           [](Cluster& cluster, const Fault&) { cluster.cut_coordinator_from_all(true); },
           [](Cluster& cluster, const Fault&) { cluster.cut_coordinator_from_all(false); }},
          {"coordinator-gives-up", "the coordinator hears nobody until it gives up, and is started anew",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             const Nanoseconds gives_up =
                 scene.job.cluster.give_up_after + 2 * scene.job.cluster.detect.patience;
             fault.a = Cluster::kCoordinator;
             fault.lasts = gives_up + dice.between(Nanoseconds(seconds(1)), Nanoseconds(seconds(12)));
             // It is started anew behind this, and nodes look for it for that long.
             return scene.cluster.by_hand &&
                    fault.lasts + seconds(12) <
                        std::min<Nanoseconds>(scene.job.cluster.orphan_after, seconds(60));
           },
           [](Cluster& cluster, const Fault&) {
             cluster.start_again_after_silence();
             cluster.cut_coordinator_from_all(true);
           },
           [](Cluster& cluster, const Fault&) { cluster.cut_coordinator_from_all(false); }}};
}

std::vector<FaultKind> cuts() {
  const auto cut = [](Cluster& cluster, const Fault& fault) {
    for (const std::string& who : fault.costs) cluster.disturb_coordinator(who, {.blocked = true});
  };
  const auto mend = [](Cluster& cluster, const Fault& fault) {
    for (const std::string& who : fault.costs) cluster.disturb_coordinator(who, {});
  };
  return {
      {"coordinator-cut-two", "the coordinator is cut off from two replicas, for longer than the patience",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const std::uint32_t replicas = scene.job.cluster.replicas;
         if (replicas < 3) return false;
         const auto first = static_cast<std::uint32_t>(dice.below(replicas));
         fault.a = NodeName{false, first}.text();
         fault.b = NodeName{false, (first + 1) % replicas}.text();
         fault.costs = {fault.a, fault.b};
         fault.lasts = long_time(dice, scene);
         return true;
       },
       cut, mend},
      {"coordinator-cut-half", "the coordinator is cut off from half of the replicas, or one more",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const std::uint32_t replicas = scene.job.cluster.replicas;
         if (replicas < 4) return false;
         const auto first = static_cast<std::uint32_t>(dice.below(replicas));
         const std::uint64_t count = replicas / 2 + dice.below(2);
         for (std::uint32_t i = 0; i < count; ++i)
           fault.costs.insert(NodeName{false, (first + i) % replicas}.text());
         const Nanoseconds patience = scene.job.cluster.detect.patience;
         // A majority is waited for longer than one node; then living members are lost, and come back.
         fault.lasts = dice.one_in(3) ? dice.between(6 * patience, 12 * patience) : long_time(dice, scene);
         return true;
       },
       cut, mend}};
}

}  // namespace

std::vector<FaultKind> faults_of_the_coordinator() {
  std::vector<FaultKind> all = deaths_of_it();
  for (FaultKind& kind : silences()) all.push_back(std::move(kind));
  for (FaultKind& kind : cuts()) all.push_back(std::move(kind));
  all.push_back({"journal-full", "the disk of the journal is full, or answers nothing, for a while",
                 [](Dice& dice, const Scene& scene, Fault& fault) {
                   fault.lasts = long_time(dice, scene);
                   fault.strength = dice.one_in(2) ? kSilent : 1;
                   return scene.cluster.by_hand;
                 },
                 [](Cluster& cluster, const Fault& fault) {
                   (fault.strength == kSilent ? cluster.journal().silent : cluster.journal().full) = true;
                 },
                 [](Cluster& cluster, const Fault& fault) {
                   if (fault.strength == kSilent) return cluster.journal().answer_again();
                   cluster.journal().full = false;
                 }});
  all.push_back({"coordinator-second", "another coordinator begins with the journal of the one that lives",
                 [](Dice& dice, const Scene& scene, Fault& fault) {
                   const auto one = static_cast<std::uint32_t>(dice.below(scene.job.cluster.replicas));
                   fault.a = NodeName{false, one}.text();
                   fault.lasts = dice.between(Nanoseconds(seconds(1)), Nanoseconds(seconds(20)));
                   fault.costs = {fault.a};
                   return scene.cluster.by_hand;
                 },
                 [](Cluster& cluster, const Fault& fault) { cluster.start_second_coordinator(fault.a); },
                 [](Cluster& cluster, const Fault& fault) { cluster.cut_usurped_from(fault.a, false); }});
  return all;
}

}  // namespace muster::simulation
