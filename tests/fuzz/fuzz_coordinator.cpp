// Messages that are well formed and make no sense, to the production coordinator: from its nodes, from a
// stranger, at any stage of a run. It may refuse them, and it may end the run with a report; it must not end
// without.
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "muster/run.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;

// ---- any message, its fields chosen by the input: mostly small numbers, which name what there is

template <class T>
concept HasFields = requires(T& x) {
  T::fields(x);
};

template <class T>
void fill(T& value, Choices& choices);

template <class T>
void fill(std::vector<T>& values, Choices& choices) {
  values.resize(choices.below(4));
  for (T& value : values) fill(value, choices);
}

template <class T>
void fill(std::set<T>& values, Choices& choices) {
  for (std::uint32_t count = choices.below(4); count > 0; --count) {
    T value{};
    fill(value, choices);
    values.insert(value);
  }
}

template <class T>
void fill(T& value, Choices& choices) {
  if constexpr (HasFields<T>) {
    std::apply([&](auto&... field) { (fill(field, choices), ...); }, T::fields(value));
  } else if constexpr (std::is_same_v<T, Event>) {
    value = make_event("notice", {{"text", std::string("a notice")}});
    if (choices.below(2) == 1) value.name = "unheard of";
  } else if constexpr (std::is_same_v<T, std::string>) {
    static const char* kTexts[] = {"", "cpu:0", "same", "other", "link", "compute"};
    value = kTexts[choices.below(6)];
  } else if constexpr (std::is_same_v<T, bool>) {
    value = choices.below(2) == 1;
  } else {
    const std::uint32_t small = choices.below(12);
    value = small == 11   ? std::numeric_limits<T>::max()
            : small == 10 ? choices.number<T>()
                          : static_cast<T>(small);
  }
}

template <class T>
caf::message chosen(Choices& choices) {
  T value;
  fill(value, choices);
  if constexpr (std::is_same_v<T, Join>) value.protocol = choices.below(8) == 0 ? 99 : kProtocolVersion;
  return caf::make_message(std::move(value));
}

// What no node sends: an error, a message of no known kind, nothing at all.
caf::message senseless(Choices& choices) {
  switch (choices.below(3)) {
    case 0:
      return caf::make_message(caf::make_error(caf::sec::unexpected_message));
    case 1:
      return caf::make_message(std::string("hello"), std::uint32_t{7});
    default:
      return {};
  }
}

using Maker = caf::message (*)(Choices&);
constexpr Maker kMakers[] = {
    &chosen<Join>,        &chosen<Prepared>,  &chosen<Installed>,     &chosen<Closed>,   &chosen<CaughtUp>,
    &chosen<Leaving>,     &chosen<Adopt>,     &chosen<Raised>,        &chosen<Progress>, &chosen<EpochEnd>,
    &chosen<ReplicaDone>, &chosen<Heartbeat>, &chosen<HeldUp>,        &chosen<Failing>,  &chosen<ChildEnded>,
    &chosen<StopRequest>, &chosen<Tick>,      &chosen<StatusRequest>, &senseless};

// ---- a coordinator of two replicas, without threads

struct Quiet {
  caf::actor_system_config config;
  caf::actor_system system;

  static caf::actor_system_config& prepared(caf::actor_system_config& config) {
    configure(config);
    config.set("scheduler.policy", caf::atom("testing"));
    return config;
  }
  Quiet() : system(prepared(config)) {}
};

caf::actor_system& quiet_system() {
  static auto* quiet = new Quiet;  // for the life of the process: CAF's own statics may end before it would
  return quiet->system;
}

// A node that does nothing; or one of another version, which answers everything with an error.
caf::behavior deaf(caf::event_based_actor* self, bool answers) {
  self->set_default_handler(
      [answers](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
        if (answers) return caf::sec::unexpected_message;
        return caf::delegated<caf::message>{};
      });
  return {[](caf::unit_t) {}};
}

class Cluster {
 public:
  Cluster() : system_(quiet_system()), scheduler_(dynamic_cast<Scheduler&>(system_.scheduler())) {
    CoordinatorSetup setup;
    setup.job.model.name = "linear";
    setup.job.data.source = "synthetic";
    setup.job.train.shards = 4;
    setup.job.cluster.replicas = 2;
    setup.placement.devices = {"cpu:0", "cpu:1"};
    setup.by_hand = true;
    setup.on_event = [](const Event& event) { to_json_line(event); };
    setup.on_end = [this](const Report&) { ++reports_; };
    coordinator_ = system_.spawn(coordinator, std::move(setup));
    for (auto& node : nodes_) node = system_.spawn(deaf, &node == &nodes_.back());
    caf::actor_cast<caf::abstract_actor*>(coordinator_)->attach_functor([this](const caf::error& reason) {
      dead_ = true;
      why_ = system_.render(reason);
    });
    run();
  }
  ~Cluster() {
    for (auto& node : nodes_) caf::anon_send_exit(node, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator_, caf::exit_reason::kill);
    run();
    scheduler_.advance_time(1h);  // what was delayed has nobody to go to
    run();
  }

  void say(std::size_t who, const caf::message& message) {
    const auto sender = who < nodes_.size() ? caf::actor_cast<caf::strong_actor_ptr>(nodes_[who]) : nullptr;
    caf::actor_cast<caf::strong_actor_ptr>(coordinator_)
        ->get()
        ->eq_impl(caf::make_message_id(), sender, nullptr, message);
    run();
  }
  void pass(caf::timespan time) {
    scheduler_.advance_time(time);
    run();
  }
  void kill(std::size_t who) {
    if (who < nodes_.size()) caf::anon_send_exit(nodes_[who], caf::exit_reason::kill);
    run();
  }
  bool dead() const { return dead_; }
  const std::string& why() const { return why_; }
  int reports() const { return reports_; }

 private:
  using Scheduler = caf::scheduler::test_coordinator;

  void run() {
    int messages = 0;
    while (scheduler_.try_run_once()) MUSTER_CHECK(++messages < 100'000);
  }

  caf::actor_system& system_;
  Scheduler& scheduler_;
  coordinator_actor coordinator_;
  std::array<caf::actor, 3> nodes_;  // two replicas, and one that may come later
  bool dead_ = false;
  std::string why_;  // it is dead
  int reports_ = 0;
};

// The good beginning, as far as it is asked for.
void begin(Cluster& cluster, std::uint32_t stages) {
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      const NodeName name{false, slot};
      if (stage == 0) {
        Join join;
        join.protocol = kProtocolVersion;
        join.name = name;
        join.incarnation = slot + 1;
        cluster.say(slot, caf::make_message(join));
      } else if (stage == 1) {
        Prepared prepared;
        prepared.name = name;
        prepared.address = prepared.state_sha256 = "same";
        prepared.loads = true;
        prepared.facts.samples = 64;
        prepared.elements = 8;
        cluster.say(slot, caf::make_message(prepared));
      } else {
        cluster.say(slot, caf::make_message(Installed{name, 1}));
      }
    }
  }
}

}  // namespace

// True: the run still goes on, or was asked to stop, at the end of the input.
bool accepts(Input input) {
  Choices choices(input);
  Cluster cluster;
  begin(cluster, choices.below(4));
  for (int turn = 0; turn < 24 && !choices.empty(); ++turn) {
    const std::uint32_t what = choices.below(std::size(kMakers) + 3);
    const std::uint32_t who = choices.below(4);
    if (what == std::size(kMakers)) {
      cluster.kill(who);
    } else if (what > std::size(kMakers)) {
      cluster.pass(50ms * choices.below(64));
    } else {
      cluster.say(who, kMakers[what](choices));
    }
    MUSTER_CHECK(!cluster.dead(), cluster.why(), "turn", turn);
    MUSTER_CHECK(cluster.reports() <= 1, cluster.reports());
  }
  return cluster.reports() == 0;
}

std::vector<Bytes> seeds() {
  const auto numbers = [](std::initializer_list<int> values) {
    Bytes bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
  };
  // stages of the beginning; then what, who, fields
  return {numbers({0}), numbers({3, 17, 2, 0}), numbers({3, 19, 0, 4}),
          numbers({3, 11, 0, 0, 0, 7, 0, 0, 11, 1, 0, 1, 7, 0, 0})};
}

}  // namespace muster::fuzz
