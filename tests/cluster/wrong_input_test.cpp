// Every wrong input: its message with place and help, exit code 2, no process; from `plan` as from `run`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cluster/refusals.hpp"

namespace muster::wrong_input_test {
namespace {

using namespace muster::cluster_test;

std::string with(const std::string& from, const std::string& to) {
  std::string text = linear_job();
  return text.replace(text.find(from), from.size(), to);
}

TEST(WrongInput, UnknownKeyWithTheNearestOne) {
  expect_refused(Folder(), with("batch = 16", "bathc = 16"),
                 {"job.toml:15:1: train.bathc: unknown key", "did you mean train.batch?"});
}

TEST(WrongInput, WrongType) {
  expect_refused(Folder(), with("batch = 16", "batch = \"many\""),
                 {"job.toml:15:9: train.batch: wrong type", "\"many\"", "an integer from 1"});
}

TEST(WrongInput, OutOfRange) {
  expect_refused(Folder(), with("batch = 16", "batch = 0"),
                 {"job.toml:15:9: train.batch: out of range", "found 0"});
  expect_refused(Folder(), with("shards = 5", "shards = 0"),
                 {"job.toml:14:10: train.shards: out of range", "found 0"});
}

TEST(WrongInput, MoreReplicasThanShards) {
  expect_refused(
      Folder(), with("replicas = 2", "replicas = 6"),
      {"job.toml:21:12: cluster.replicas: more replicas than shards", "found 6", "train.shards = 5"});
  expect_refused(Folder(), linear_job(), {"--set cluster.replicas=6", "more replicas than shards"},
                 {"--replicas", "6"});
}

TEST(WrongInput, MissingFile) {
  const Folder folder;
  const Outcome outcome = run_muster({"run", folder.path("no-such.toml")});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"no-such.toml", "no such file"});
}

TEST(WrongInput, MissingDataFile) {
  const Folder folder;
  std::string text =
      with("source = \"synthetic\"\nsamples = 1237\ninputs = 8\noutputs = 3\ntest_samples = 100",
           "source = \"idx\"\ntrain_images = \"/no/such/images.gz\"\ntrain_labels = \"/no/such/labels.gz\"");
  expect_refused(folder, text,
                 {"job.toml:9:16: data.train_images: no such file", "/no/such/images.gz",
                  "job.toml:10:16: data.train_labels: no such file"});
}

TEST(WrongInput, DamagedOrTruncatedDataFile) {
  const Folder folder;
  const std::string labels_file = "/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz";
  const std::string whole = read_text(labels_file);
  ASSERT_GT(whole.size(), 10000u) << labels_file;
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(~flipped[flipped.size() / 2]);
  const std::string plain_header = {0, 0, 8, 1, 0, 0, 0, 9, 1, 2, 3};  // says 9 labels, holds 3
  const std::vector<std::pair<std::string, std::string>> cases = {
      {whole.substr(0, 1000), "is truncated"},
      {flipped, "is damaged"},
      {plain_header, "is truncated"},
      {std::string("what is this"), "is not an IDX file"}};
  for (const auto& [bytes, what] : cases) {
    const std::string labels = folder.write("labels", bytes);
    const std::string images = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
    expect_refused(
        folder,
        with("source = \"synthetic\"\nsamples = 1237\ninputs = 8\noutputs = 3\ntest_samples = 100",
             "source = \"idx\"\ntrain_images = \"" + images + "\"\ntrain_labels = \"" + labels + "\""),
        {"job.toml:10:16: data.train_labels: ", labels, what});
  }
}

TEST(WrongInput, DeviceListedTwice) {
  expect_refused(Folder(), with("replicas = 2", "replicas = 2\ndevices = [\"cpu:0\", \"cpu:0\"]"),
                 {"job.toml:22:21: cluster.devices[1]: a device listed twice", "cluster.devices[0]"});
}

TEST(WrongInput, DeviceThatIsNotThere) {
  expect_refused(Folder(), with("replicas = 2", "replicas = 1\ndevices = [\"cpu:4096\"]"),
                 {"job.toml:22:12: cluster.devices[0]: a device that is not there", "\"cpu:4096\"",
                  "this node has cpu:0"});
  expect_refused(Folder(), with("replicas = 2", "replicas = 1\ndevices = [\"cuda:99\"]"),
                 {"job.toml:22:12: cluster.devices[0]: a device that is not there", "\"cuda:99\"",
                  "this node has cpu:0"});
  expect_refused(Folder(), with("replicas = 2", "replicas = 1\ndevices = [\"gpu:0\"]"),
                 {"job.toml:22:12: cluster.devices[0]: not a device", "\"gpu:0\""});
}

TEST(WrongInput, DevicesThatAreNotOneForEachReplica) {
  expect_refused(
      Folder(), with("replicas = 2", "replicas = 2\ndevices = [\"cpu:0\"]"),
      {"job.toml:22:", "cluster.devices: not one device for each replica", "cluster.replicas = 2"});
}

TEST(WrongInput, FewerPortsThanReplicas) {
  expect_refused(Folder(), linear_job(),
                 {"cluster.data_ports: replicas and loaders on this machine take a port each: 3",
                  "7100-7101 has 2", "a range of at least 3 ports"},
                 {"--replicas", "3", "--set", "cluster.data_ports=7100-7101"});
}

TEST(WrongInput, AFolderThatCannotBeOne) {
  const Folder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& wrong : {file, file + "/below"}) {
    expect_refused(folder, linear_job(),
                   {"checkpoint.folder: no checkpoint could be written there", file + " is no folder"},
                   {"--set", "checkpoint.folder=" + wrong});
  }
}

TEST(WrongInput, EpochsTogetherWithStepsOrRepeat) {
  expect_refused(Folder(), with("epochs = 2", "epochs = 2\nsteps = 7"),
                 {"job.toml:17:", "train.steps: incompatible with train.epochs"});
  expect_refused(Folder(), with("test_samples = 100", "test_samples = 100\nrepeat = 3"),
                 {"job.toml:13:", "data.repeat: incompatible with train.epochs"});
}

TEST(WrongInput, UnknownNamesWithTheNearestOne) {
  expect_refused(Folder(), with("name = \"linear\"\ninputs", "name = \"lineal\"\ninputs"),
                 {"job.toml:4:8: model.name: unknown model", "did you mean \"linear\"?"});
  expect_refused(Folder(), with("\"synthetic\"", "\"synthetik\""),
                 {"job.toml:8:10: data.source: unknown source", "did you mean \"synthetic\"?"});
  expect_refused(Folder(), with("\"sgd\"", "\"sdg\""),
                 {"job.toml:18:8: train.optimizer.name", "did you mean \"sgd\"?"});
}

TEST(WrongInput, UnitsAreChecked) {
  expect_refused(Folder(), with("replicas = 2", "replicas = 2\nstart_patience = \"5 parsecs\""),
                 {"job.toml:22:18: cluster.start_patience", "5 parsecs"});
}

TEST(WrongInput, BrokenTomlWithItsPlace) {
  expect_refused(Folder(), with("batch = 16", "batch = = 16"), {"job.toml:15:9"});
}

TEST(WrongInput, DropThatLeavesNothing) {
  expect_refused(Folder(), with("batch = 16", "batch = 1000\nremainder = \"drop\""),
                 {"job.toml:16:13: train.remainder", "nothing to train on"});
}

TEST(WrongInput, ModelThatDoesNotFitTheData) {
  const Folder folder;
  const std::string file = folder.write("job.toml", with("outputs = 3\n[data]", "outputs = 4\n[data]"));
  const RunResult run = run_job(file, folder);
  EXPECT_NE(run.outcome.code, 0);
  EXPECT_EQ(run.report["outcome"], "failed");
  expect_parts(run.outcome.err, {"model linear", "4"});
}

TEST(WrongInput, ManyMistakesAreToldTogether) {
  expect_refused(Folder(), with("shards = 5\nbatch = 16", "shards = 0\nbatch = -1\nbathc = 3"),
                 {"train.shards: out of range", "train.batch: out of range", "train.bathc: unknown key",
                  "--set train.optimizer.learning_rate=-1"},
                 {"--set", "train.optimizer.learning_rate=-1"});
}

TEST(WrongInput, OverridesHaveTheSameChecks) {
  expect_refused(Folder(), linear_job(),
                 {"--set train.bathc=3: train.bathc: unknown key; did you mean train.batch?"},
                 {"--set", "train.bathc=3"});
  expect_refused(Folder(), linear_job(), {"--set train.batch: not an override"}, {"--set", "train.batch"});
}

// ---- the command line itself

void expect_wrong_usage(const Arguments& arguments, const std::vector<std::string>& parts) {
  const Outcome outcome = run_muster(arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  expect_parts(outcome.err, parts);
}

TEST(WrongCommandLine, UnknownCommandOrOption) {
  expect_wrong_usage({"rnu"}, {"unknown command 'rnu'", "did you mean 'run'?", "--help"});
  expect_wrong_usage({"--verbose"}, {"unknown"});
  expect_wrong_usage({"run", "job.toml", "--replica", "2"}, {"muster run", "--replica", "--help"});
  expect_wrong_usage({"plan", "job.toml", "--report", "x"}, {"muster plan", "--report"});
  expect_wrong_usage({"plan", "job.toml", "--per-host", "0"}, {"--per-host is at least 1"});
  expect_wrong_usage({"bench", "nothing"}, {"nothing"});
  expect_wrong_usage({"scaling", "--replicas", "8,12"}, {"--replicas", "powers of two"});
  expect_wrong_usage({"scaling", "--gbit", "fast"}, {"--gbit"});
  expect_wrong_usage({"scaling", "--parameters", "70B", "--bucket-mib", "0.001"}, {"--bucket-mib"});
}

TEST(WrongCommandLine, MissingOrSuperfluousArguments) {
  expect_wrong_usage({"run"}, {"JOB.toml is missing"});
  expect_wrong_usage({"plan"}, {"JOB.toml is missing"});
  expect_wrong_usage({"run", "a.toml", "b.toml"}, {"muster run"});
  expect_wrong_usage({"run", "a.toml", "--replicas"}, {"--replicas"});
}

TEST(WrongCommandLine, NoCommandShowsTheHelp) {
  const Outcome outcome = run_muster({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE((outcome.out + outcome.err).find("muster COMMAND"), std::string::npos);
}

TEST(WrongCommandLine, FilesThatCannotBeWrittenAreToldBeforeTheRun) {
  const Folder folder;
  const std::string file = folder.write("job.toml", linear_job());
  expect_wrong_usage({"run", file, "--events", folder.path("none/events")},
                     {"--events", "No such file or directory"});
  expect_wrong_usage({"run", file, "--report", folder.path("none/report")},
                     {"--report", "No such file or directory"});
}

TEST(RightCommandLine, EventsThatAreMissingAreTold) {
  const Folder folder;
  const Outcome outcome =
      run_muster({"run", folder.write("job.toml", linear_job()), "--events", "/dev/full", "--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "muster run: events are missing in --events /dev/full: No space left on device\n");
}

TEST(RightCommandLine, HelpTellsExitCodesAndOptions) {
  const Outcome help = run_muster({"--help"});
  EXPECT_EQ(help.code, 0);
  expect_parts(help.out, {"run ", "plan ", "devices ", "bench ", "Exit codes", "130", "143"});
  const Outcome run = run_muster({"run", "--help"});
  EXPECT_EQ(run.code, 0);
  expect_parts(run.out, {"--replicas", "--set", "--report", "--events", "--quiet"});
  for (const char* command : {"coordinate", "join", "plan", "devices", "bench", "scaling", "job", "events"}) {
    const Outcome outcome = run_muster({command, "--help"});
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    EXPECT_NE(outcome.out.find(std::string("muster ") + command), std::string::npos) << outcome.out;
  }
}

TEST(WrongInput, MeasurementsOfTheCostModelAreToldByLine) {
  const Folder folder;
  const std::string point =
      R"({"ranks":2,"cores":2,"bytes":4096,"median_us":10,"algorithm":"direct","transport":"x"})";
  const std::string good = folder.write("good.jsonl", point + "\n");
  const Outcome fitted = run_muster({"scaling", "--fit", good, "--replicas", "8"});
  EXPECT_EQ(fitted.code, 0);
  expect_parts(fitted.out, {"10.0, 10.0 (1.00)"});
  const std::string bad = folder.write("bad.jsonl", point + "\n{\"ranks\":3}\n");
  for (const std::string& file : {bad, folder.path("none")}) {
    const Outcome outcome = run_muster({"scaling", "--fit", file});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
  }
}

TEST(RightCommandLine, VersionNamesWhatItStandsOn) {
  const Outcome outcome = run_muster({"--version"});
  EXPECT_EQ(outcome.code, 0);
  expect_parts(outcome.out, {"muster ", "CAF", "UCX", "CUDA", "libtorch"});
}

// Whatever there is: each CPU under its name; GPUs that can be used, or the reason.
TEST(RightCommandLine, DevicesNamesWhatAJobMayAskFor) {
  const Outcome text = run_muster({"devices"});
  EXPECT_EQ(text.code, 0) << text.err;
  expect_parts(text.out, {"cpu:0   core ", "processor", "CUDA", "UCX", "moves memory of: host"});
  const Outcome outcome = run_muster({"devices", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("cpus").at(0).at("name"), "cpu:0");
  EXPECT_GT(json.at("memory_bytes"), 1 << 20);
  const auto& cuda = json.at("cuda");
  EXPECT_NE(cuda.at("usable") > 0, cuda.at("reason") != "") << cuda;
  EXPECT_EQ(json.at("ucx").at("memory_types").at(0), "host");
  expect_wrong_usage({"devices", "cuda:0"}, {"muster devices"});
}

TEST(RightCommandLine, PlanShowsWhatWouldRun) {
  const Folder folder;
  const Outcome outcome = run_muster({"plan", folder.write("job.toml", linear_job()), "--replicas", "2"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  expect_parts(outcome.out, {"27 parameters", "1237 samples", "16 steps an epoch", "32 steps",
                             "replica 0 on cpu:0: shards 0-2 (743 an epoch)", "shards 3-4 (494 an epoch)",
                             "memory", "shard 0: 248", "shard 4: 247", "threads"});
}

// Two tree nodes of each replica to the other one, and the result back.
TEST(RightCommandLine, PlanForetellsWhatAStepSends) {
  const Folder folder;
  const std::string file = folder.write("job.toml", linear_job());
  expect_parts(run_muster({"plan", file}).out, {"2 replicas on 1 host (sums and results of 27 elements)",
                                                "324 bytes, of these 0 between hosts  <- taken"});
  expect_parts(run_muster({"plan", file, "--per-host", "1"}).out,
               {"2 replicas on 2 hosts", "324 bytes, of these 324 between hosts  <- taken"});
}

TEST(RightCommandLine, BenchTellsWhatIsSent) {
  const Arguments arguments{"bench", "allreduce", "--ranks", "2", "--bytes", "65536", "--iterations", "2"};
  const Outcome outcome = run_muster(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_parts(outcome.out, {"correct; sent 131072 bytes within the host, 0 between hosts"});
}

}  // namespace
}  // namespace muster::wrong_input_test
