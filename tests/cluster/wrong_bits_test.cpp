// A bit flips in the memory of one replica, in the middle of a run: the others find it, all go back before
// it, and the weights at the end are those of a run in which nothing has flipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "gpu/files/safetensors.hpp"
#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/paced_job.hpp"
#include "tests/cluster/process_memory.hpp"

namespace muster::wrong_bits_test {
namespace {

using namespace muster::cluster_test;

struct Trained {
  Outcome outcome;
  Json report;
  Json first, corrupt;  ///< events: the first one; the first one that names who is wrong
  std::string suspect;  ///< a checkpoint that was set aside
};

std::string set_aside_in(const std::string& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().string().ends_with(".suspect")) return file.path();
  return {};
}

/// With three replicas; once epoch 5 has ended, bits of replica 1 flip, if any.
Trained run_in(const Folder& folder, const std::string& flips, const Arguments& more = {}) {
  Arguments arguments{"run",        folder.write("job.toml", paced_job({.model = "flipping"})),
                      "--replicas", "3",
                      "--events",   "-",
                      "--report",   folder.path("report.json"),
                      "--set",      "model.fail=" + folder.path("flip"),
                      "--set",      "model.flips=gradients"};
  if (flips == "weights") arguments.back() = "model.flips=weights";
  for (const Arguments& some : {paced_sets(folder), more})
    arguments.insert(arguments.end(), some.begin(), some.end());
  MusterProcess process(arguments, {}, "muster_paced");
  const std::map<int, pid_t> pids = process.replicas(3);
  EXPECT_EQ(pids.size(), 3u);
  Trained run;
  if (!flips.empty()) {
    process.event("epoch", [](const Json& event) { return event["epoch"] >= 5; });
    folder.write("flip." + std::to_string(pids.at(1)), "");
    // Before that one, perhaps, that nobody knows yet who is wrong; or that one alone.
    run.corrupt = process.event("corrupt", [&](const Json& event) {
      if (run.first.is_null()) run.first = event;
      return event.contains("replica");
    });
  }
  folder.write("gate", "");
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  run.report = read_json(folder.path("report.json"));
  run.suspect = set_aside_in(folder.path("kept"));
  return run;
}

Trained run_with(const std::string& flips, const Arguments& more = {}) {
  return run_in(Folder(), flips, more);
}

class WrongBits : public ::testing::TestWithParam<const char*> {};

TEST_P(WrongBits, AreFoundAndAllGoBackBeforeThem) {
  const Trained good = run_with("");
  ASSERT_EQ(good.outcome.code, 0) << good.outcome.err;
  const Trained run = run_with(GetParam());
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  const Json& counts = run.report["event_counts"];
  if (run.corrupt.is_object()) {
    EXPECT_EQ(run.corrupt["what"], GetParam());
    EXPECT_EQ(run.corrupt["replica"], 1);
    EXPECT_EQ(counts["lost"], 1);
  } else {  // an audit saw it before the hash of the weights did, and now all have read good ones
    EXPECT_EQ(std::string(GetParam()), "weights");
    EXPECT_EQ(counts["corrupt"], 1);
    EXPECT_FALSE(counts.contains("lost"));
  }
  EXPECT_EQ(counts["went_back"], 1);
  EXPECT_EQ(run.report["weights_sha256"], good.report["weights_sha256"]);
  EXPECT_EQ(run.report["ledger"], good.report["ledger"]);
  EXPECT_EQ(run.suspect, "") << "its step was done again";
}

TEST_P(WrongBits, AreReportedAndTheRunGoesOn) {
  const Trained run = run_with(GetParam(), {"--set", "cluster.on_corruption=report"});
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  ASSERT_TRUE(run.first.is_object());
  EXPECT_NE(run.first["text"].get<std::string>().find("replica 1"), std::string::npos) << run.first;
  EXPECT_EQ(run.first["action"], "reported");
  EXPECT_NE(run.outcome.err.find(run.first["advice"].get<std::string>()), std::string::npos)
      << run.outcome.err;
  EXPECT_FALSE(run.report["event_counts"].contains("lost"));
  EXPECT_FALSE(run.report["event_counts"].contains("went_back"));
  EXPECT_EQ(run.suspect, "");
}

TEST_P(WrongBits, StopTheRunWhichIsResumedFromBeforeThem) {
  const Trained good = run_with("");
  const Folder folder;
  const Trained stopped = run_in(folder, GetParam(), {"--set", "cluster.on_corruption=stop"});
  ASSERT_EQ(stopped.outcome.code, 1) << stopped.outcome.err;
  ASSERT_TRUE(stopped.first.is_object());
  EXPECT_NE(stopped.first["text"].get<std::string>().find("replica 1"), std::string::npos) << stopped.first;
  EXPECT_EQ(stopped.first["action"], "the run fails");
  const auto reason = stopped.report["reason"].get<std::string>();
  EXPECT_TRUE(reason.starts_with("diverged: ")) << reason;
  EXPECT_NE(reason.find(stopped.first["advice"].get<std::string>()), std::string::npos) << reason;
  for (const auto& file : std::filesystem::directory_iterator(folder.path("")))
    if (file.path().filename().string().starts_with("flip.")) std::filesystem::remove(file);
  const Trained resumed = run_in(folder, "", {"--set", "model.flips=" + std::string(GetParam()), "--resume"});
  ASSERT_EQ(resumed.outcome.code, 0) << resumed.outcome.err;
  EXPECT_EQ(resumed.report["event_counts"]["resumed"], 1);
  EXPECT_EQ(resumed.report["weights_sha256"], good.report["weights_sha256"]);
  EXPECT_EQ(resumed.report["ledger"], good.report["ledger"]);
}

INSTANTIATE_TEST_SUITE_P(Flipped, WrongBits, ::testing::Values("weights", "gradients"),
                         [](const auto& one) { return std::string(one.param); });

// ---- one of many blocks

// Of a model with 71,500 elements 64 blocks are hashed in turn, one behind each step: the last element behind
// step 127. All begin behind step 96 of an undisturbed run, and stand still while a bit of that one flips.
constexpr int kKept = 96, kHashed = 127, kBlocks = 64;

std::string job_of_many_blocks() {
  return R"(name = "blocks"
seed = 7
[model]
name = "held"
inputs = 64
outputs = 1100
[data]
source = "synthetic"
samples = 60
inputs = 64
outputs = 1100
[train]
shards = 5
batch = 2
evaluate = false
audit = "off"
epochs = 30
[train.optimizer]
name = "sgd"
learning_rate = 0.01
[cluster]
loaders = 1
[cluster.straggler]
patience = "600ms"
[checkpoint]
keep = 100
)";
}

/// The checkpoints of a folder that are not set aside.
std::vector<Json> manifests_in(const std::string& folder) {
  std::vector<Json> manifests;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().string().ends_with(".manifest.json")) manifests.push_back(read_json(file.path()));
  return manifests;
}

/// With a checkpoint of each 24th step: where a run ends none is passed over.
struct Undisturbed {
  Undisturbed() {
    Arguments arguments{"run",      folder.write("job.toml", job_of_many_blocks()),
                        "--report", folder.path("report.json"),
                        "--set",    "checkpoint.folder=" + kept,
                        "--set",    "model.hold=" + hold,
                        "--quiet",  "--in-process"};
    for (const char* epochs : {"4", "8", "12", "16", "20", "24", "28", "30"}) {
      Arguments part = arguments;
      part.insert(part.end(), {"--set", std::string("train.epochs=") + epochs});
      MusterProcess process(part, {}, "muster_paced");
      const Outcome outcome = process.wait();
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      if (arguments.back() != "--resume") arguments.emplace_back("--resume");
    }
    report = read_json(folder.path("report.json"));
  }

  Folder folder;
  std::string kept = folder.path("kept");
  std::string hold = folder.path("hold");  // in the job's hash, as any option of a model
  Json report;
};

/// Replicas by hand, which go on from a checkpoint, and are held in their first step.
class HeldRun {
 public:
  /// `every`: so many steps from one checkpoint to the next; those of other steps are removed.
  explicit HeldRun(int every) {
    std::filesystem::copy(undisturbed_.kept, kept_);
    for (const auto& file : std::filesystem::directory_iterator(undisturbed_.kept)) {
      if (!file.path().string().ends_with(".manifest.json")) continue;
      const int step = read_json(file.path())["step"];
      if (step > kKept || step % every != 0) std::filesystem::remove(kept_ / file.path().filename());
    }
    coordinator_ = start({"coordinate", folder_.write("job.toml", job_of_many_blocks()), "--listen", where_,
                          "--replicas", "3", "--events", "-", "--report", folder_.path("report.json"),
                          "--resume", "--set", "checkpoint.folder=" + kept_.string(), "--set",
                          "checkpoint.every=" + std::to_string(every) + " steps", "--set",
                          "model.hold=" + undisturbed_.hold});
    loader_ = start({"join", "--loader", "--coordinator", where_});
    for (int i = 0; i < 3; ++i) set_held(join(), true);
    event([this](const Json&) { return members_.size() == 3; });
  }

  /// A further replica: its process.
  pid_t join() {
    joined_.push_back(start({"join", "--coordinator", where_}));
    return joined_.back()->pid();
  }
  /// The next event for which `wanted` holds; null if there is none.
  Json event(const std::function<bool(const Json&)>& wanted) {
    while (const auto line = coordinator_->line()) {
      const Json event = Json::parse(*line, nullptr, false);
      if (!event.is_object()) continue;
      if (event["event"] == "joined" && event.contains("replica")) members_[event["replica"]] = event;
      if (event["event"] == "corrupt") corrupt_.push_back(event);
      if (wanted(event)) return event;
    }
    return {};
  }
  /// All others have done what they can do of step 97, and wait for this one.
  void stand_at(int replica) {
    held_ = replica;
    for (const auto& [slot, joined] : members_) set_held(pid_of(slot), slot == replica);
    const Json late = event([&](const Json& each) { return holds_up(each) && each["cause"] == "compute"; });
    ASSERT_TRUE(late.is_object()) << coordinator_->wait().err;
    EXPECT_EQ(late["step"], kKept + 1) << late;
  }
  /// Of the last element, in the memory of the replica that all wait for.
  void flip() {
    for (const Json& manifest : manifests_in(kept_)) {
      if (manifest["step"] != kKept) continue;
      const std::string file = manifest["files"]["weights"]["name"];
      const std::vector<float> weights = muster::read_safetensors(kept_ / file).state;
      EXPECT_EQ(weights.size(), 71500u);
      EXPECT_GE(flip_bit_behind(pid_of(held_), {weights.end() - 256, weights.end()}), 1);
    }
  }
  /// This one is held in its next gradient, and no other one any more.
  void hold_only(int replica) {
    const int before = std::exchange(held_, replica);
    set_held(pid_of(replica), true);
    set_held(pid_of(before), false);
  }
  void release() { set_held(pid_of(held_), false); }
  /// All others wait in this step for the one that is held.
  void wait_in_step(int step) {
    const Json late = event([&](const Json& each) { return holds_up(each) && each["step"] == step; });
    ASSERT_TRUE(late.is_object()) << coordinator_->wait().err;
  }
  /// No step is done until there are so many members.
  bool wait_for(std::size_t members) {
    return event([&](const Json& each) { return each["event"] == "view" && each["members"] == members; })
        .is_object();
  }
  /// Step by step, each held up by the other one of these two, until there are so many members.
  bool walk_to(std::size_t members, int one, int other) {
    return event([&](const Json& each) {
             if (holds_up(each)) hold_only(held_ == one ? other : one);
             return each["event"] == "view" && each["members"] == members;
           })
        .is_object();
  }
  pid_t pid_of(int replica) const { return members_.at(replica)["pid"].get<pid_t>(); }
  std::string device_of(int replica) const { return members_.at(replica)["device"]; }

  /// Reads on until one event `corrupt` has come for each of them; the last one.
  Json expect_found(const std::vector<int>& replicas) {
    event([&](const Json&) { return corrupt_.size() == replicas.size(); });
    EXPECT_EQ(corrupt_.size(), replicas.size());
    for (std::size_t i = 0; i < corrupt_.size(); ++i) {
      EXPECT_EQ(corrupt_[i]["replica"], replicas[i]) << corrupt_[i];
      EXPECT_EQ(corrupt_[i]["device"], device_of(replicas[i])) << corrupt_[i];
      EXPECT_EQ(corrupt_[i]["what"], "weights") << corrupt_[i];
      EXPECT_LT(corrupt_[i]["step"], kKept + 1 + kBlocks) << corrupt_[i];
    }
    return corrupt_.empty() ? Json() : corrupt_.back();
  }
  void expect_undisturbed_end(int lost) {
    const Outcome outcome = coordinator_->wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json report = read_json(folder_.path("report.json"));
    EXPECT_EQ(report["outcome"], "completed") << report["reason"];
    EXPECT_EQ(report["weights_sha256"], undisturbed_.report["weights_sha256"]);
    EXPECT_EQ(report["ledger"], undisturbed_.report["ledger"]);
    const std::map<std::string, int> counts = report["event_counts"];
    EXPECT_EQ(counts.at("lost"), lost);
    EXPECT_EQ(counts.at("corrupt"), lost);
    EXPECT_EQ(counts.at("went_back"), 1);
    std::map<int, Json> good;
    for (const Json& manifest : manifests_in(undisturbed_.kept))
      good[manifest["step"]] = manifest["weights_sha256"];
    const std::vector<Json> left = manifests_in(kept_);
    EXPECT_GE(left.size(), 2u) << "the one that all went back to, and the last one";
    for (const Json& manifest : left)
      EXPECT_EQ(manifest["weights_sha256"], good[manifest["step"]]) << "of step " << manifest["step"];
  }
  /// Whoever takes part at the end, and whoever was turned away meanwhile.
  std::vector<Outcome> ends() {
    std::vector<Outcome> outcomes;
    for (const auto& process : joined_) outcomes.push_back(process->wait());
    return outcomes;
  }

 private:
  static std::unique_ptr<MusterProcess> start(const Arguments& arguments) {
    return std::make_unique<MusterProcess>(arguments, Environment{}, "muster_paced");
  }
  void set_held(pid_t process, bool held) {
    const std::string file = "hold." + std::to_string(process);
    if (held) undisturbed_.folder.write(file, "");
    if (!held) std::filesystem::remove(undisturbed_.folder.path(file));
  }
  bool holds_up(const Json& event) const {
    return event["event"] == "late" && event.value("replica", -1) == held_;
  }

  Undisturbed undisturbed_;
  Folder folder_;
  std::filesystem::path kept_ = folder_.path("kept");
  std::string where_ = free_address();
  std::unique_ptr<MusterProcess> coordinator_, loader_;
  std::vector<std::unique_ptr<MusterProcess>> joined_;
  std::map<int, Json> members_;  // the event `joined` of each
  std::vector<Json> corrupt_;
  int held_ = -1;
};

struct LateFlip {
  int replica;  ///< 0 writes the checkpoints
  int every;
  int found;  ///< behind this step: its block is hashed, or a checkpoint is due
};

class LateBlock : public ::testing::TestWithParam<LateFlip> {};

TEST_P(LateBlock, IsComparedWithin64StepsAndAllGoBackBeforeIt) {
  const auto [replica, every, found] = GetParam();
  HeldRun run(every);
  run.stand_at(replica);
  run.flip();
  run.release();
  const Json corrupt = run.expect_found({replica});
  ASSERT_TRUE(corrupt.is_object());
  EXPECT_EQ(corrupt["step"], found) << corrupt;
  EXPECT_EQ(corrupt["from_step"], found - kBlocks + 1) << corrupt;
  const Json back = run.event([](const Json& event) { return event["event"] == "went_back"; });
  ASSERT_TRUE(back.is_object());
  EXPECT_EQ(back["to_step"], 48) << back;
  run.expect_undisturbed_end(1);
}

INSTANTIATE_TEST_SUITE_P(Flipped, LateBlock,
                         ::testing::Values(LateFlip{0, 48, kHashed}, LateFlip{2, 48, kHashed},
                                           LateFlip{0, 24, 120}),
                         [](const auto& one) {
                           return "InReplica" + std::to_string(one.param.replica) + "FoundBehindStep" +
                                  std::to_string(one.param.found);
                         });

// The donor, which is the last member, hands its wrong weights to a newcomer, and these are compared before
// the first step of the two. Both are evicted, join again, and get the right ones.
TEST(LateBlockOfADonor, IsComparedBeforeTheNewcomersFirstStep) {
  HeldRun run(24);
  run.stand_at(2);
  run.flip();
  run.hold_only(0);
  run.wait_in_step(kKept + 2);  // whoever misses the record of a step has no vote of its own
  const pid_t newcomer = run.join();
  ASSERT_TRUE(run.wait_for(4));
  EXPECT_EQ(run.pid_of(3), newcomer);
  run.hold_only(1);
  const Json corrupt = run.expect_found({2, 3});
  ASSERT_TRUE(corrupt.is_object());
  EXPECT_LT(corrupt["step"], 120) << "no checkpoint was due, and the block was not hashed: " << corrupt;
  ASSERT_TRUE(run.walk_to(4, 0, 1));
  std::vector<pid_t> again{run.pid_of(4), run.pid_of(5)}, evicted{run.pid_of(2), newcomer};
  std::ranges::sort(again);
  std::ranges::sort(evicted);
  EXPECT_EQ(again, evicted);
  run.release();
  run.expect_undisturbed_end(2);
  for (const Outcome& outcome : run.ends()) EXPECT_EQ(outcome.code, 0) << outcome.err;
}

}  // namespace
}  // namespace muster::wrong_bits_test
