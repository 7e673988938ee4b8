#include "actors/node/launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "actors/events/event.hpp"
#include "actors/node/node_process.hpp"
#include "muster/error.hpp"

namespace muster {

std::vector<NodeName> node_names(const Job& job) {
  std::vector<NodeName> names;
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot) names.push_back({false, slot});
  for (std::uint32_t slot = 0; slot < job.cluster.loaders; ++slot) names.push_back({true, slot});
  return names;
}

Launcher::Launcher(const Job& job, const Placement& placement, std::vector<std::string> command,
                   std::uint16_t port)
    : job_(job), placement_(placement), command_(std::move(command)), port_(port) {}

void Launcher::start_all() {
  for (const NodeName& name : node_names(job_)) start(name, false);
}

void Launcher::report_ended(const coordinator_actor& coordinator) {
  while (const auto ended = children.next_ended()) {
    caf::anon_send(coordinator, ChildEnded{ended->name, ended->pid, ended->launched, ended->how});
    spread(coordinator);
    const bool any_left =
        std::ranges::any_of(children.names(), [](const auto& name) { return !name.loader; });
    if (ended->in_user_code || (ended->by_signal && !any_left)) causes.push_back(*ended);
    if (ended->in_user_code)  // it may have been lost before, as one that hangs
      caf::anon_send(coordinator, Raised{make_event("notice", {{"text", ended->text()}})});
    if (ending_ || ended->good || job_.cluster.restart != Restart::on_loss) continue;
    if (!ended->evicted && restarts_++ >= job_.cluster.restarts) continue;
    waiting_.push_back({ended->name, Clock::now() + back_off_});
    back_off_ = std::min(2 * back_off_, kBackOffMax);
  }
}

void Launcher::start_no_more() {
  ending_ = true;
  waiting_.clear();
}

void Launcher::start_anew(const coordinator_actor& coordinator) {
  while (!waiting_.empty() && waiting_.front().when <= Clock::now()) {
    const NodeName name = waiting_.front().name;
    waiting_.pop_front();
    try {
      start(name, true);
      spread(coordinator);
    } catch (const Error& error) {  // those who are left need no other one
      waiting_.push_back({name, Clock::now() + back_off_});
      back_off_ = std::min(2 * back_off_, kBackOffMax);
      const std::string text = std::string(error.what()) + "; tried again";
      caf::anon_send(coordinator, Raised{make_event("notice", {{"text", text}})});
    }
  }
}

void Launcher::end_lost(const std::vector<std::uint64_t>& launched) {
  for (const std::uint64_t start : launched) lost_.push_back({start, Clock::now() + kLostGrace});
  while (!lost_.empty() && lost_.front().until <= Clock::now()) {
    children.kill(lost_.front().launched);
    lost_.pop_front();
  }
}

// Replicas that have one core together have it evenly only while all are there: until then each has all.
// A replica that cannot be moved may be slower; it goes on.
void Launcher::spread(const coordinator_actor& coordinator) {
  const auto& shares = placement_.cores;
  if (std::ranges::adjacent_find(shares) == shares.end()) return;
  std::set<int> every;
  for (const auto& share : shares) every.insert(share.begin(), share.end());
  const std::vector<NodeName> names = children.names();
  const bool all_there = names.size() == shares.size();
  for (const NodeName& name : names) try {
      children.move(name, all_there ? shares[name.slot] : std::vector<int>(every.begin(), every.end()));
    } catch (const Error& error) {
      const std::string text = name.text() + " is not moved to other cores: " + error.what();
      caf::anon_send(coordinator, Raised{make_event("notice", {{"text", text}})});
    }
}

void Launcher::start(const NodeName& name, bool joins) {
  std::vector<std::string> command = command_;
  NodeArguments arguments{job_.cluster.listen, port_, name, ::getpid(), joins, {}, new_incarnation()};
  std::vector<int> cores;
  if (!name.loader && !placement_.cores.empty()) {
    cores = placement_.cores[name.slot];
    if (joins) arguments.device = placement_.devices[name.slot];
  }
  const auto texts = to_arguments(arguments);
  command.insert(command.end(), texts.begin(), texts.end());
  children.start(name, command, cores, arguments.launched);
}

}  // namespace muster
