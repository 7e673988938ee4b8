#include "actors/preflight/preflight_apart.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "actors/preflight/preflight_text.hpp"
#include "actors/processes/memory_file.hpp"
#include "actors/processes/spawn.hpp"
#include "actors/user_calls/call_note.hpp"
#include "actors/user_calls/call_watch.hpp"
#include "actors/user_calls/watched_registry.hpp"
#include "muster/error.hpp"
#include "muster/job_file.hpp"

namespace muster {

namespace {

constexpr int kLookMs = 50;
// The child's numbers of the descriptors that it is handed.
constexpr int kRequest = 3, kAnswer = 4;
// It is not held to what a step may take: the first call may build kernels, or read what is cached later.
constexpr int kFirstCalls = 3;

// A text in anonymous memory, which a child process can be handed.
class MemoryText {
 public:
  explicit MemoryText(int descriptor) : descriptor_(descriptor) {}
  static MemoryText create() { return MemoryText(make_memory_file("muster-preflight")); }
  MemoryText(MemoryText&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~MemoryText() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor() const { return descriptor_; }

  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const auto written =
          ::pwrite(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (written <= 0) throw Error(std::string("no memory for a preflight: ") + std::strerror(errno));
      done += static_cast<std::size_t>(written);
    }
  }
  std::string read() const {
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0 || about.st_size < 0) return {};
    std::string text(static_cast<std::size_t>(about.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const auto read =
          ::pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (read <= 0) break;
      done += static_cast<std::size_t>(read);
    }
    text.resize(done);
    return text;
  }

 private:
  int descriptor_;
};

std::string key_of_call(const Job& job, const std::string& call) {
  if (call.find("source '") != std::string::npos) return "data.source";
  return key_of(job.model);
}

class PreflightChild {
 public:
  PreflightChild(const std::vector<std::string>& command, const std::string& request)
      : request_(MemoryText::create()),
        answer_(MemoryText::create()),
        note_(CallNote::create()),
        watch_(*note_) {
    request_.write(request);
    std::vector<std::string> all = command;
    all.insert(all.end(), {"--preflight", "--parent", std::to_string(::getpid())});
    pid_ = spawn_child(all, {{request_.descriptor(), kRequest}, {answer_.descriptor(), kAnswer}},
                       note_->descriptor());
    if (pid_ < 0)
      throw Error("the process that looks at the job could not be started: " + command.front() + ": " +
                  std::strerror(errno));
  }
  ~PreflightChild() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  PreflightChild(const PreflightChild&) = delete;
  PreflightChild& operator=(const PreflightChild&) = delete;

  struct End {
    bool good = false;
    std::string how;   ///< it ended, or hangs
    std::string call;  ///< that was under way; may be empty
    bool has_no_main = false;
  };

  End wait(const ClusterConfig& cluster, int stop) {
    const auto patience = kFirstCalls * cluster.straggler.stuck_after;
    const int descriptor = open_pidfd(pid_);
    End end;
    for (;;) {
      watch_.look();
      if (const auto status = status_of_end()) {
        end = end_of(*status);
        break;
      }
      if (watch_.not_begun_for(cluster.start_patience)) {
        end.how = "has not come to muster::main within " + std::to_string(cluster.start_patience.count()) +
                  " ms (cluster.start_patience): this program is started again for each replica; " +
                  kNoMainAdvice;
        break;
      }
      if (watch_.stuck_for(patience)) {
        end.call = text_of(note_->current());
        end.how = "has not returned within " + std::to_string(patience.count()) + " ms (" +
                  std::to_string(kFirstCalls) + " times cluster.straggler.stuck_after)";
        break;
      }
      watch_.report();
      pollfd waits[] = {{descriptor, POLLIN, 0}, {stop, POLLIN, 0}};  // what is negative is passed over
      ::poll(waits, 2, kLookMs);
      if (waits[1].revents != 0) {
        if (descriptor >= 0) ::close(descriptor);
        throw StopRequested();
      }
    }
    if (descriptor >= 0) ::close(descriptor);
    return end;
  }

  std::string answer() const { return answer_.read(); }

 private:
  static constexpr int kStatusUnknown = -1;  // an embedding program has waited for all

  std::optional<int> status_of_end() {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return std::nullopt;
    if (ended < 0 && errno != ECHILD) return std::nullopt;
    ended_ = true;
    return ended == pid_ ? status : kStatusUnknown;
  }

  End end_of(int status) const {
    const std::string call = text_of(note_->current());
    if (status == kStatusUnknown)
      return {!answer().empty(),
              "ended (how is not known: this program waits for its children, or ignores SIGCHLD)", call,
              false};
    const bool exited = WIFEXITED(status);
    const bool has_no_main = exited && WEXITSTATUS(status) == kNoMainCode;
    std::string how = text_of_exit(status);
    if (!watch_.has_begun() && !has_no_main)
      how += " before it came to muster::main: this program is started again for each replica; " +
             std::string(kNoMainAdvice);
    return {exited && WEXITSTATUS(status) == 0, how, call, has_no_main};
  }

  MemoryText request_, answer_;
  std::shared_ptr<CallNote> note_;
  CallWatch watch_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

Preflight with_mistake(const Mistake& mistake) {
  Preflight flight;
  flight.mistakes.push_back(mistake);
  return flight;
}

// Its answer, or what has ended it.
Preflight wait_for(PreflightChild& child, const Job& job, const Places& places, const Registry& registry,
                   int stop) {
  const auto end = child.wait(job.cluster, stop);
  if (end.has_no_main)
    throw Error("this program is started again for each replica, and does not become one: " +
                std::string(kNoMainAdvice));
  const std::string answer = child.answer();
  if (end.good && !answer.empty()) return preflight_of_text(answer, registry.declarations());
  if (end.call.empty())
    return with_mistake(
        mistake_at(places, "", "the process that looks at the job before the run " + end.how));
  return with_mistake(
      mistake_at(places, key_of_call(job, end.call),
                 end.call + " " + end.how + ", in the check before the run" +
                     "; find the place in a debugger: gdb --args PROGRAM check JOB --in-process"));
}

// In the child, of a node.
Preflight look_of_node(const PreflightRequest& asked, const Registry& registry) {
  try {
    check_contract_of_node(asked.job, registry, *asked.node, asked.scope);
    Preflight good;
    good.job = asked.job;
    return good;
  } catch (const Error& error) {
    return with_mistake(mistake_at({}, "", error.what()));
  }
}

// The child knows no places.
void put_in_place(const Places& places, std::vector<Mistake>& mistakes) {
  for (Mistake& mistake : mistakes)
    mistake = mistake_at(places, mistake.key, mistake.what, mistake.found, mistake.allowed, mistake.nearest);
}

}  // namespace

Preflight preflight_apart(const Job& job, const Places& places, const Registry& registry, Trial trial,
                          const ContractScope& scope, const std::vector<std::string>& command, int stop) {
  Preflight flight;
  flight.mistakes = check_job(job, places, registry.declarations());
  if (!flight.mistakes.empty()) return flight;
  PreflightChild child(command,
                       to_text(PreflightRequest{with_defaults(job, registry.declarations()), trial, scope}));
  flight = wait_for(child, job, places, registry, stop);
  put_in_place(places, flight.mistakes);
  if (flight.mistakes.empty()) add_key_notices(places, trial, flight);
  return flight;
}

void check_contract_of_node_apart(const Job& job, const Registry& registry, NodeWork work,
                                  const std::vector<std::string>& command) {
  PreflightChild child(command, to_text(PreflightRequest{job, Trial::on_host, {}, work}));
  const auto mistakes = wait_for(child, job, {}, registry, -1).mistakes;
  if (mistakes.empty()) return;
  const Mistake& first = mistakes.front();
  throw Error((first.key.empty() ? "" : first.key + ": ") + first.what);
}

int run_preflight_child(const Registry& registry) {
  const MemoryText request(kRequest), answer(kAnswer);
  Registry noted = registry;
  const auto note = CallNote::open(take_note_descriptor());
  WatchedRegistry::note_calls(noted, note);
  const PreflightRequest asked = [&] {
    const CallText reading("reading the job");  // says that this program has come here
    const CallNote::Scope scope(note.get(), UserCode::model, reading);
    return preflight_request(request.read(), registry.declarations());
  }();
  answer.write(to_text(asked.node ? look_of_node(asked, noted)
                                  : preflight(asked.job, {}, noted, asked.trial, asked.scope)));
  return 0;
}

}  // namespace muster
