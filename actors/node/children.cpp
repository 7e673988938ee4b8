#include "actors/node/children.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "actors/processes/spawn.hpp"
#include "base/bounded/line_output.hpp"
#include "gpu/core_shares.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr std::chrono::milliseconds kReapedIn{2000};

}  // namespace

Children::~Children() {
  end_within(std::chrono::milliseconds(0));
}

pid_t Children::start(const NodeName& name, const std::vector<std::string>& command,
                      const std::vector<int>& cores, std::uint64_t launched) {
  const OnCores inherited(cores);
  auto note = CallNote::create();
  const pid_t pid = spawn_child(command, {}, note->descriptor());
  if (pid < 0) {
    throw Error("the process of " + name.text() + " could not be started: " + command.front() + ": " +
                std::strerror(errno));
  }
  note->close_descriptor();
  running_.push_back({name, pid, open_pidfd(pid), launched, std::move(note), false});
  return pid;
}

// Where user code ends a process, by a crash or by exit(), it is under way then. So it often is where a
// kernel without memory does. Who was killed from here may have been in any place.
std::string Children::user_code_of(const Child& child, int status) {
  const bool failed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
  return failed && !child.killed ? text_of(child.note->current()) : std::string();
}

std::optional<Children::Ended> Children::next_ended() {
  for (auto child = running_.begin(); child != running_.end(); ++child) {
    int status = 0;
    const pid_t ended_pid = ::waitpid(child->pid, &status, WNOHANG);
    const bool taken = ended_pid < 0 && errno == ECHILD;  // an embedding program has waited for all
    if (ended_pid != child->pid && !taken) continue;
    const std::string code = taken ? "" : user_code_of(*child, status);
    Ended ended{child->name,
                child->pid,
                child->launched,
                taken ? "ended, and this program has taken its exit status" : text_of_exit(status),
                !code.empty(),
                !taken && WIFSIGNALED(status) && !child->killed,
                !taken && WIFEXITED(status) && WEXITSTATUS(status) == 0,
                !taken && WIFEXITED(status) && WEXITSTATUS(status) == kEvictedCode};
    if (ended.in_user_code) ended.how += " in " + code;
    if (child->descriptor >= 0) ::close(child->descriptor);
    running_.erase(child);
    return ended;
  }
  return std::nullopt;
}

std::vector<int> Children::descriptors() const {
  std::vector<int> all;
  for (const Child& child : running_) {
    if (child.descriptor >= 0) all.push_back(child.descriptor);
  }
  return all;
}

std::vector<NodeName> Children::names() const {
  std::vector<NodeName> all;
  for (const Child& child : running_) all.push_back(child.name);
  return all;
}

void Children::move(const NodeName& name, const std::vector<int>& cores) {
  for (const Child& child : running_) {
    if (child.name == name) move_to_cores(child.pid, cores);
  }
}

void Children::kill_all() {
  for (Child& child : running_) kill(child);
}

void Children::kill(std::uint64_t launched) {
  for (Child& child : running_) {
    if (child.launched == launched) kill(child);
  }
}

void Children::kill(Child& child) {
  child.killed = true;
  ::kill(child.pid, SIGKILL);
}

std::vector<Children::Ended> Children::end_within(std::chrono::milliseconds patience) {
  std::vector<Ended> all;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (any()) {
    while (auto ended = next_ended()) all.push_back(std::move(*ended));
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    std::vector<pollfd> waits;
    for (const int descriptor : descriptors()) waits.push_back({descriptor, POLLIN, 0});
    ::poll(waits.data(), waits.size(), static_cast<int>(std::min<long>(left.count(), 20)));
  }
  kill_all();
  reap_within(kReapedIn, all);
  return all;
}

// One that was killed ends at once, unless its kernel waits for a disk or a device.
void Children::reap_within(std::chrono::milliseconds patience, std::vector<Ended>& all) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (any() && std::chrono::steady_clock::now() < deadline) {
    while (auto ended = next_ended()) all.push_back(std::move(*ended));
    std::vector<pollfd> waits;
    for (const int descriptor : descriptors()) waits.push_back({descriptor, POLLIN, 0});
    if (any()) ::poll(waits.data(), waits.size(), 20);
  }
  for (const Child& child : running_) {
    error_output().print("muster: process " + std::to_string(child.pid) + " of " + child.name.text() +
                         " was killed and does not end: its kernel may wait for a disk or a device, or a "
                         "debugger holds it");
    if (child.descriptor >= 0) ::close(child.descriptor);
  }
  running_.clear();
}

}  // namespace muster
