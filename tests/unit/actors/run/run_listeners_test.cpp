// Who listens to a run holds it up neither by waiting nor by hanging.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <vector>

#include "actors/events/event.hpp"
#include "actors/run/observer_feed.hpp"
#include "muster/job_file.hpp"
#include "muster/run.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr auto kLong = 60s;

Job small_job() {
  const char* text = R"(
name = "listened"
[model]
name = "linear"
inputs = 4
outputs = 2
[data]
source = "synthetic"
samples = 64
inputs = 4
outputs = 2
[train]
batch = 4
shards = 2
epochs = 2
[train.optimizer]
name = "sgd"
learning_rate = 0.01
[cluster]
replicas = 1
)";
  const ParsedJob parsed = read_job_text(text, "small.toml", {}, builtin_registry().declarations());
  EXPECT_TRUE(parsed.job) << render(parsed.mistakes);
  return parsed.job.value_or(Job{});
}

struct System {
  System() { configure(config); }
  caf::actor_system_config config;
  caf::actor_system system{config};
};

/// An observer of the test's own actor system that does with each event what `on_event` says.
struct Observer {
  explicit Observer(std::function<void(const Event&)> on_event)
      : actor(own.system.spawn([on_event](observer_actor::pointer) -> observer_actor::behavior_type {
          return {[on_event](const Event& event) { on_event(event); }};
        })) {}
  ~Observer() { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }
  System own;
  observer_actor actor;
};

RunOptions listened_by(const Observer& observer) {
  RunOptions options;
  options.in_process = true;
  options.observers = {observer.actor};
  return options;
}

TEST(RunListeners, AnObserverThatHangsHoldsUpNobody) {
  std::promise<void> ended, heard_last;
  const auto end = ended.get_future().share();
  const Observer observer([&, end](const Event& event) {
    EXPECT_EQ(end.wait_for(kLong), std::future_status::ready) << "the run waits for its observer";
    if (event.name == "epoch" && event.integer("epoch") == 2) heard_last.set_value();
  });
  const Report report = run(small_job(), listened_by(observer));
  EXPECT_EQ(report.outcome, "completed") << report.reason;
  ended.set_value();
  EXPECT_EQ(heard_last.get_future().wait_for(kLong), std::future_status::ready) << "it is told all the same";
}

TEST(RunListeners, ASlowObserverIsToldHowManyItMissed) {
  std::promise<void> entered, go, last;
  const auto gate = go.get_future().share();
  std::vector<Event> heard;
  const Observer observer([&, gate](const Event& event) {
    heard.push_back(event);
    if (heard.size() == 1) entered.set_value();
    if (heard.size() == 1) {
      EXPECT_EQ(gate.wait_for(kLong), std::future_status::ready);
    }
    if (event.text("text") == "last") last.set_value();
  });
  ObserverFeed feed(observer.actor, 2);
  const auto push = [&](const char* text) { feed.push(make_event("notice", {{"text", std::string(text)}})); };
  push("first");
  entered.get_future().wait();
  for (const char* text : {"second", "third", "fourth", "fifth"}) push(text);
  go.set_value();
  ASSERT_TRUE(feed.delivered_within(kLong));
  push("last");
  ASSERT_EQ(last.get_future().wait_for(kLong), std::future_status::ready);
  ASSERT_EQ(heard.size(), 5u);
  EXPECT_EQ(heard[2].text("text"), "third");
  EXPECT_EQ(heard[3].name, "missed");
  EXPECT_EQ(heard[3].integer("count"), 2);
}

TEST(RunListeners, AFunctionThatWaitsHoldsUpNoStep) {
  std::promise<void> epoch;
  const auto seen = epoch.get_future().share();
  const Observer observer([&](const Event& event) {
    if (event.name == "epoch" && event.integer("epoch") == 2) epoch.set_value();
  });
  RunOptions options = listened_by(observer);
  int told = 0;
  options.on_event = [&, seen](const Event&) {
    if (told++ == 0) {
      EXPECT_EQ(seen.wait_for(kLong), std::future_status::ready) << "the run waits for it";
    }
  };
  const Report report = run(small_job(), options);
  EXPECT_EQ(report.outcome, "completed") << report.reason;
  EXPECT_GT(told, 2) << "run returned before it was told all";
}

/// What this process says on standard error while this lives can be read.
class Overheard {
 public:
  Overheard() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe(ends_), 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~Overheard() {
    ::dup2(before_, STDERR_FILENO);
    for (const int end : {before_, ends_[0], ends_[1]}) ::close(end);
  }
  /// Waits for it; what was said until then.
  std::string until(const std::string& word) {
    while (said_.find(word) == std::string::npos) {
      pollfd readable{ends_[0], POLLIN, 0};
      char some[256];
      if (::poll(&readable, 1, std::chrono::milliseconds(kLong).count()) <= 0) break;
      said_.append(some, static_cast<std::size_t>(::read(ends_[0], some, sizeof some)));
    }
    return said_;
  }

 private:
  int before_, ends_[2] = {};
  std::string said_;
};

TEST(RunListeners, AFunctionThatIsWaitedForAtTheEndIsNamed) {
  std::string said;
  RunOptions options;
  options.in_process = true;
  {
    Overheard overheard;
    options.on_event = [&](const Event&) {
      if (said.empty()) said = overheard.until("is waited for");
    };
    EXPECT_EQ(run(small_job(), options).outcome, "completed");
  }
  EXPECT_NE(
      said.find("the run has ended; a function of this program that is told of events has not returned"),
      std::string::npos)
      << said;
}

TEST(RunListeners, AnObserverMayAskForTheEnd) {
  System own;
  const auto observer = own.system.spawn([](observer_actor::pointer self) -> observer_actor::behavior_type {
    return {[self](const Event& event) {
      const auto coordinator = caf::actor_cast<coordinator_actor>(self->current_sender());
      if (event.name == "epoch") self->send(coordinator, StopRequest{"seen enough"});
    }};
  });
  RunOptions options;
  options.in_process = true;
  options.observers = {observer};
  Job job = small_job();
  job.train.epochs = 100000;
  const Report report = run(job, options);
  EXPECT_EQ(report.outcome, "interrupted");
  EXPECT_EQ(report.reason, "seen enough");
  caf::anon_send_exit(observer, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace muster
