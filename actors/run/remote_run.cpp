#include "actors/run/remote_run.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <caf/io/all.hpp>

#include "actors/node/control_port.hpp"
#include "actors/node/control_socket.hpp"
#include "actors/run/run_address.hpp"
#include "config/values/address.hpp"
#include "muster/run.hpp"

namespace muster {

namespace {

constexpr std::chrono::milliseconds kAskAgain{1000}, kNoWait{0};

struct Target {
  std::string host;
  std::uint16_t port = 0;
};

[[noreturn]] void gone(const std::string& what) {
  throw RunGone(what);
}

std::string who(const RunAddress& address) {
  return "process " + std::to_string(address.pid) + " on " + address.host;
}

bool may_read(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator(folder, error);
  return !error;
}

// The run of that folder that is meant.
RunAddress choose(std::vector<RunAddress> all, const std::string& folder, const std::string& job) {
  std::string names;
  for (const RunAddress& each : all) names += (names.empty() ? "" : ", ") + each.job;
  if (!job.empty()) std::erase_if(all, [&](const RunAddress& each) { return each.job != job; });
  if (all.size() > 1 && !std::ranges::all_of(all, has_died)) std::erase_if(all, has_died);
  if (all.size() == 1) return all.front();
  if (all.size() > 1) gone("several runs keep their state in " + folder + ": " + names + "; add --job NAME");
  if (names.empty() && !may_read(folder))
    gone("the folder " + folder +
         " cannot be read by this user: ask as the user of the run, or give HOST:PORT of its "
         "coordinator, as its event `listening` says");
  if (names.empty())
    gone("no run with checkpoint.folder " + folder +
         " is under way, or it could not write its address there (its event `notice` says so); then, and "
         "without a "
         "folder, give HOST:PORT of its coordinator, as its event `listening` says");
  gone("no run of that name keeps its state in " + folder + "; there is " + names);
}

Target reach(const RunAddress& address) {
  if (has_died(address))
    gone("its coordinator, " + who(address) +
         ", is gone without a last report. The replicas of `muster run` end with it; those of `muster "
         "coordinate` train on for cluster.orphan_after at least, and are found again by the same command");
  if (is_stopped(address))
    gone("its coordinator, " + who(address) +
         ", is stopped, and answers nobody; let it go on with: kill -CONT " + std::to_string(address.pid));
  if (address.port == 0)
    gone("the replicas of this run are threads of " + who(address) +
         ", which listens on no port; end it with: kill " + std::to_string(address.pid));
  const auto host = host_to_reach(address);
  if (!host)
    gone("its coordinator, " + who(address) + ", listens on " + address.listen +
         " for that machine alone; ask there");
  return {*host, address.port};
}

Target target_of(const std::string& where, const std::string& job) {
  std::error_code error;
  if (std::filesystem::is_directory(where, error)) return reach(choose(addresses_in(where), where, job));
  Target target;
  if (parse_address(where, target.host, target.port)) return target;
  throw Error("'" + where +
              "' is neither a folder that is there, nor a job file, nor HOST:PORT of a "
              "coordinator; a run makes its checkpoint.folder when it begins");
}

}  // namespace

struct RemoteRun::Link {
  struct Config : caf::actor_system_config {
    Config() {
      load_middleman(*this);
      configure(*this);
    }
  };

  Link() { system.await_actors_before_shutdown(false); }

  using Answer = decltype(std::declval<caf::scoped_actor&>()->request(
      std::declval<coordinator_actor&>(), kAskAgain, std::declval<StatusRequest>()));

  Answer request(bool at_end, std::chrono::milliseconds most) {
    return self->request(coordinator, most, StatusRequest{at_end});
  }

  // The answer to what was asked before counts first.
  Answer next_answer(bool at_end, std::chrono::milliseconds most) {
    if (!at_end || !last_report) return request(at_end, most);
    Answer asked = std::move(*last_report);
    last_report.reset();
    return asked;
  }

  // As it is now, or at its end; nothing if that takes longer. Nobody answers for one that has died: it is
  // asked anew, and looked after, every now and then.
  std::optional<RunStatus> ask(bool at_end, std::chrono::milliseconds most) {
    const auto until = std::chrono::steady_clock::now() + most;
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left <= left.zero()) return std::nullopt;
      std::optional<RunStatus> status;
      next_answer(at_end, std::min(left, kAskAgain))
          .receive([&](const RunStatus& said) { status = said; }, [](const caf::error&) {});
      if (status) return status;
      self->receive([&](const caf::down_msg&) { is_down = true; }, caf::after(kNoWait) >> [] {});
      if (is_down) gone("the coordinator at " + address + " has ended without its last report");
    }
  }

  Config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  coordinator_actor coordinator;
  std::string address;
  std::optional<Answer> last_report;  // asked for before it was told to end: its end may come at once
  bool is_down = false;
};

RemoteRun::RemoteRun(const std::string& where, const std::string& job, std::chrono::milliseconds patience) {
  const Target target = target_of(where, job);
  link_ = std::make_unique<Link>();
  link_->address = address_text(target.host, target.port);
  const auto found = find_coordinator(link_->self, target.host, target.port, patience);
  if (!found) gone(no_coordinator_text(link_->address, why_not_found(target.host, target.port, patience)));
  link_->coordinator = *found;
  link_->self->monitor(link_->coordinator);
}

RemoteRun::~RemoteRun() = default;

const std::string& RemoteRun::address() const {
  return link_->address;
}

RunStatus RemoteRun::status() {
  const auto status = link_->ask(false, kPatience);
  if (!status) gone("the coordinator at " + link_->address + " gives no answer");
  return *status;
}

void RemoteRun::stop(const std::string& reason, bool now) {
  if (!link_->last_report) link_->last_report.emplace(link_->request(true, kAskAgain));
  link_->self->send(link_->coordinator, StopRequest{reason, true});
  if (now) link_->self->send(link_->coordinator, StopRequest{reason + ", at once", false});
}

std::optional<RunStatus> RemoteRun::wait(std::chrono::milliseconds most) {
  return link_->ask(true, most);
}

}  // namespace muster
