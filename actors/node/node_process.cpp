#include "actors/node/node_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>

#include <caf/io/all.hpp>

#include "actors/checkpoint/folder_mark.hpp"
#include "actors/node/children.hpp"
#include "actors/node/control_port.hpp"
#include "actors/node/control_socket.hpp"
#include "actors/node/last_word.hpp"
#include "actors/preflight/preflight_apart.hpp"
#include "actors/processes/descriptors.hpp"
#include "actors/processes/signals.hpp"
#include "actors/processes/spawn.hpp"
#include "actors/rules/nodes/own_standstill.hpp"
#include "actors/rules/watch/looking.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "actors/user_calls/call_note.hpp"
#include "actors/user_calls/watched_registry.hpp"
#include "base/bounded/line_output.hpp"
#include "base/mutex.hpp"
#include "muster/run.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kAnswerMax = kConnectMax + kConnectMax / 2;    // of a coordinator that is asked who it is
constexpr auto kLaunchedPatience = std::chrono::seconds(20);  // a machine may be busy with starting them
constexpr auto kStandstill = 3 * kConnectMax;                 // a look takes less
constexpr auto kBackOffMin = std::chrono::milliseconds(500);
constexpr auto kBackOffMax = std::chrono::milliseconds(10000);

// What the node's actor tells the process's main thread.
struct Status {
  Mutex mutex;
  Stop stop MUSTER_GUARDED_BY(mutex);
  std::atomic<bool> orphaned{false};
  std::atomic<std::chrono::milliseconds::rep> orphan_after{0};  // set before orphaned
};

void guard_with_signal_stacks(NodeSeams& seams) {
  seams.make_executor = [make = std::move(seams.make_executor)](const std::string& name,
                                                                const std::string& device) {
    auto executor = make(name, device);
    executor->submit([] { LastWord::use_signal_stack(); });
    return executor;
  };
}

// `own_address`: of this machine, on the way to the coordinator; empty: it is not known.
using MakeSeams = std::function<NodeSeams(const std::string& own_address)>;

// What one session after the other has.
struct AllSessions {
  const JoinOptions& options;
  const Registry registry;
  const MakeSeams& make_seams;
  LastWord* const last_word;
  std::string own_address;  // the last one that was found
};

// One life of a node: from joining to its end.
class Session {
 public:
  Session(caf::actor_system& system, AllSessions& all, Signals& signals)
      : options_(all.options), last_word_(all.last_word), self_(system) {
    const JoinOptions& options = all.options;
    const auto coordinator = connect(options.patience, signals);
    if (!coordinator) return;
    // The name was looked up for the connection, unless CAF has one from before.
    if (const auto found = own_address_towards(options.node.host, kConnectMax); !found.empty())
      all.own_address = found;
    NodeSetup setup = setup_here();
    setup.name = options.node.name;
    setup.pid = ::getpid();
    setup.incarnation = new_incarnation();
    setup.joins = options.node.joins;
    setup.device = options.node.device;
    setup.launched = options.node.launched;
    setup.own_address = all.own_address;
    setup.registry = all.registry;
    setup.seams = all.make_seams(all.own_address);
    if (last_word_) guard_with_signal_stacks(setup.seams);
    setup.coordinator = *coordinator;
    setup.on_stop = [status = status_](const Stop& stop) {
      const MutexLock lock(status->mutex);
      status->stop = stop;
    };
    if (options.node.joins) {
      setup.on_orphaned = [status = status_, given = options.orphan_after](std::chrono::milliseconds of_job) {
        status->orphan_after = given.value_or(of_job).count();
        status->orphaned = true;
      };
      setup.drop_connection = [&system] { drop_connections(system); };
    }
    if (options.say) setup.on_notice = options.say;
    node_ = system.spawn(node, std::move(setup));
    self_->monitor(node_);
  }

  // Waits for the end, which is told. No coordinator: nothing was begun.
  std::optional<Stop> wait(Signals& signals) {
    if (!node_) return std::nullopt;
    bool ended = false;
    while (!ended) {
      self_->receive([&](const caf::down_msg&) { ended = true; }, caf::after(kLook) >> [] {});
      take_signals(signals);
      tell_last_word();
      if (ended || !status_->orphaned) continue;
      if (asked_) keep_state_alone();
      look_for_coordinator();
    }
    if (last_word_) last_word_->end_if_crashed();
    node_ = nullptr;
    const MutexLock lock(status_->mutex);
    if (asked_) status_->stop.again = false;  // it was told to go meanwhile
    return status_->stop;
  }

 private:
  caf::expected<coordinator_actor> look() {
    return find_coordinator(self_, options_.node.host, options_.node.port, kAnswerMax);
  }

  std::optional<coordinator_actor> connect(std::chrono::milliseconds patience, Signals& signals) {
    const auto began = Clock::now();
    const std::string address = options_.node.host + ":" + std::to_string(options_.node.port);
    Looking looking(address, patience);
    for (;;) {
      auto found = look();
      if (found) return *found;
      const FailedLook why = why_not_found(options_.node.host, options_.node.port, kConnectMax);
      const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
      if (const int signal = signals.take()) {
        say("ended by a signal before there was a coordinator");
        write_last_lines();
        ::_exit(128 + signal);
      }
      if (looking.gives_up(why, elapsed + kConnectAgain)) {
        say(looking.final_report(why));
        return std::nullopt;
      }
      if (const auto news = looking.failed(why, elapsed); news && options_.node.joins) say(*news);
      self_->receive(caf::after(kConnectAgain) >> [] {});
    }
  }

  void look_for_coordinator() {
    const auto now = Clock::now();
    if (!orphan_since_) {
      orphan_since_ = now;
      standstill_.begin(now);
    }
    *orphan_since_ += standstill_.tick(now, kStandstill);  // the coordinator may be back since
    if (now - *orphan_since_ >= std::chrono::milliseconds(status_->orphan_after)) {
      return caf::anon_send(
          node_, Stop{false, "the coordinator was gone for longer than orphan_after", false, true});
    }
    if (now - looked_ < kConnectAgain) return;
    looked_ = now;
    auto found = look();
    if (!found) return;
    orphan_since_.reset();
    status_->orphaned = false;
    caf::anon_send(node_, NewCoordinator{*found});
  }

  // It hands its shards over; where all who hold the state are asked to go, one keeps it. A second signal: it
  // ends at once.
  void take_signals(Signals& signals) {
    while (const int signal = signals.take()) {
      if (asked_ && signal == SIGHUP) continue;  // a shell and the kernel both send it
      if (std::exchange(asked_, true)) ::_exit(128 + signal);
      said_ = name_of_signal(signal);
      caf::anon_send(node_, Leaving{{}, said_});
      say(said_ + ": hands its shards over, and leaves; a second signal ends it at once");
    }
  }

  // A thread of this process has crashed, and waits for this: the node is lost for what it has said.
  void tell_last_word() {
    if (!last_word_) return;
    if (const auto word = last_word_->take()) caf::anon_send(node_, Trouble{*word});
  }

  // Nobody is there to hand its shards over to.
  void keep_state_alone() {
    if (std::exchange(kept_alone_, true)) return;
    caf::anon_send(node_, Stop{true, said_ + ", while the coordinator is gone", false, true});
  }

  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  const JoinOptions& options_;
  LastWord* const last_word_;
  caf::scoped_actor self_;
  node_actor node_;
  std::shared_ptr<Status> status_ = std::make_shared<Status>();
  std::optional<Clock::time_point> orphan_since_;
  Clock::time_point looked_{};
  OwnStandstill standstill_;  // while it looks
  bool asked_ = false, kept_alone_ = false;
  std::string said_;  // the signal that asked
};

// By which its launcher is told in which call of the user's code this process ends, if it does; without a
// launcher it says so itself.
std::shared_ptr<CallNote> note_of_this_process(bool launched) {
  if (launched) {
    const int descriptor = take_note_descriptor();
    return descriptor >= 0 ? CallNote::open(descriptor) : nullptr;
  }
  auto note = CallNote::create();
  note->close_descriptor();
  return note;
}

Registry with_note(const Registry& registry, const std::shared_ptr<CallNote>& note) {
  Registry noted = registry;
  WatchedRegistry::guard_calls(noted);
  if (note) WatchedRegistry::note_calls(noted, note);
  return noted;
}

int run_sessions(const JoinOptions& options, const Registry& of_user, const MakeSeams& make_seams) {
  const bool launched = options.node.launched != 0;
  const auto note = note_of_this_process(launched);
  ::prctl(PR_SET_NAME, "muster");
  raise_descriptor_limit();
  take_errors_for_signals();
  prepare_ucx_process();
  std::optional<LastWord> last_word;
  if (!launched) last_word.emplace(note, options.node.joins ? "muster join: " : "muster: ");
  Signals signals(true);
  caf::actor_system_config config;
  load_middleman(config);
  configure(config);
  caf::actor_system system(config);
  system.await_actors_before_shutdown(false);
  AllSessions sessions{options, with_note(of_user, note), make_seams, last_word ? &*last_word : nullptr, {}};
  auto back_off = kBackOffMin;
  for (;;) {
    const auto began = Clock::now();
    const auto stop = Session(system, sessions, signals).wait(signals);
    if (!stop) return 1;
    if (options.say && !stop->reason.empty()) options.say("ended: " + stop->reason);
    if (stop->good) return 0;
    // Its launcher starts another one, and sees to it that this one ends.
    const bool replaced = launched && stop->reason.starts_with(kEvicted);
    if (!stop->again || !options.node.joins) return 1;
    if (replaced) return kEvictedCode;
    if (Clock::now() - began > 2 * kBackOffMax) back_off = kBackOffMin;
    if (options.say) options.say("joins again in " + std::to_string(back_off.count()) + " ms");
    caf::scoped_actor self(system);
    for (const auto until = Clock::now() + back_off; Clock::now() < until;) {
      self->receive(caf::after(kLook) >> [] {});
      if (signals.take() != 0) return 0;  // it holds nothing
    }
    back_off = std::min(2 * back_off, kBackOffMax);
  }
}

}  // namespace

std::uint64_t new_incarnation() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

std::vector<std::string> to_arguments(const NodeArguments& arguments) {
  std::vector<std::string> texts{"--coordinator", arguments.host + ":" + std::to_string(arguments.port),
                                 "--kind",        arguments.name.loader ? "loader" : "replica",
                                 "--slot",        std::to_string(arguments.name.slot),
                                 "--parent",      std::to_string(arguments.parent)};
  if (arguments.joins) texts.push_back("--joins");
  if (arguments.launched != 0) texts.insert(texts.end(), {"--launched", std::to_string(arguments.launched)});
  if (!arguments.device.empty()) texts.insert(texts.end(), {"--device", arguments.device});
  return texts;
}

int run_node(const NodeArguments& arguments, const Registry& registry) {
  return run_node(arguments, registry, real_seams());
}

int run_node(const NodeArguments& arguments, const Registry& registry, NodeSeams seams) {
  // Whatever becomes of the launcher, this process does not outlive it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (arguments.parent != 0 && ::getppid() != arguments.parent) return 1;
  JoinOptions options;
  options.node = arguments;
  options.patience = kLaunchedPatience;
  // One that joins says its name itself, once it has one.
  options.say = [name = arguments.joins ? "" : arguments.name.text() + ": "](const std::string& text) {
    error_output().print("muster: " + name + text);
  };
  return run_sessions(options, registry, [&](const std::string&) { return seams; });
}

int run_joining_node(const JoinOptions& options, const Registry& registry) {
  const auto checked = std::make_shared<std::atomic<bool>>(options.unchecked);  // once is enough
  return run_sessions(options, registry, [&](const std::string& own_address) {
    NodeSeams seams = real_seams(own_address);
    seams.check_contract = [checked](const Job& job, const Registry& all, bool computes, bool loads) {
      if (!*checked) check_contract_of_node_apart(job, all, {computes, loads}, {this_executable(), "node"});
      *checked = true;
    };
    seams.look_for_mark = [thread = std::shared_ptr<Executor>()](
                              const Job& job, const std::string& mark,
                              std::function<void(std::string)> done) mutable {
      if (!thread) thread = make_thread_executor("muster-look", -1);  // a folder may not answer
      thread->submit([job, mark, done = std::move(done)] { done(folder_without(mark, job)); });
    };
    return seams;
  });
}

}  // namespace muster
