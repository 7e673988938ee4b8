#include "muster/job_file.hpp"

#include <gtest/gtest.h>

#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

using sample::DataFile;
using sample::job_text;
using sample::replaced;

class JobFile : public ::testing::Test {
 protected:
  ParsedJob read(const std::string& text, const std::vector<std::string>& sets = {}) const {
    ParsedJob parsed = read_job_text(text, "job.toml", sets, declarations_);
    EXPECT_EQ(parsed.job.has_value(), parsed.mistakes.empty());
    return parsed;
  }

  /// All mistakes of the sample after one replacement.
  std::string mistakes(const std::string& from, const std::string& to) const {
    return render(read(replaced(job_text(file_), from, to)).mistakes);
  }

  std::string set_mistakes(const std::vector<std::string>& sets) const {
    return render(read(job_text(file_), sets).mistakes);
  }

  DataFile file_;
  Declarations declarations_ = sample::declarations();
};

TEST_F(JobFile, AValidJobIsReadWithItsDefaults) {
  const ParsedJob parsed = read(job_text(file_));
  ASSERT_EQ(render(parsed.mistakes), "");
  const Job& job = *parsed.job;
  EXPECT_EQ(job.name, "sample");
  EXPECT_EQ(job.seed, 7u);
  EXPECT_EQ(job.model.name, "mlp");
  EXPECT_EQ(option<std::vector<std::int64_t>>(job.model.options, "hidden"),
            (std::vector<std::int64_t>{100, 10}));
  EXPECT_EQ(option<double>(job.model.options, "dropout"), 0.0);
  EXPECT_EQ(option<std::string>(job.model.options, "activation"), "relu");
  EXPECT_EQ(option<std::string>(job.data.options, "train_images"), file_.path());
  EXPECT_EQ(option<std::string>(job.data.options, "test_images"), "");
  EXPECT_EQ(job.data.shuffle, true);
  EXPECT_EQ(job.data.memory_bytes, 64u << 20);
  EXPECT_EQ(job.train.shards, 8u);
  EXPECT_EQ(job.train.epochs, 2u);
  EXPECT_EQ(job.train.optimizer.learning_rate.initial, 0.05);
  EXPECT_EQ(job.cluster.detect.patience, std::chrono::seconds(10));
}

TEST_F(JobFile, PlacesAreThoseOfTheValues) {
  const ParsedJob parsed =
      read(job_text(file_), {"train.shards=4", "cluster.devices=[\"cpu:0\", \"cpu:1\"]"});
  EXPECT_EQ(parsed.places.at("train.batch"), (Place{"job.toml", 13, 11, {}}));
  EXPECT_EQ(parsed.places.at("data.train_images"), (Place{"job.toml", 8, 16, {}}));
  EXPECT_EQ(parsed.places.at("train.optimizer"), (Place{"job.toml", 16, 8, {}}));
  EXPECT_EQ(parsed.places.at("train.shards"), (Place{{}, 0, 0, "train.shards=4"}));
  EXPECT_TRUE(parsed.places.contains("cluster.devices[1]"));
  const Mistake damaged = mistake_at(parsed.places, "data.train_images", "truncated");
  EXPECT_EQ(render(damaged), "job.toml:8:16: data.train_images: truncated");
}

TEST_F(JobFile, OneEpochWhereNeitherEpochsNorStepsIsGiven) {
  EXPECT_EQ(read(replaced(job_text(file_), "epochs = 2", "")).job->train.epochs, 1u);
  const Job job = *read(replaced(job_text(file_), "epochs = 2", "steps = 5")).job;
  EXPECT_FALSE(job.train.epochs);
  EXPECT_EQ(job.train.steps, 5u);
}

TEST_F(JobFile, ForeverIsAZero) {
  const std::string text = replaced(job_text(file_), "epochs = 2", "steps = 5");
  EXPECT_EQ(read(text, {"data.repeat=forever"}).job->data.repeat, 0u);
  EXPECT_EQ(read(text, {"data.repeat=3"}).job->data.repeat, 3u);
  EXPECT_EQ(render(read(text, {"data.repeat=0"}).mistakes),
            "--set data.repeat=0: data.repeat: out of range; found 0; allowed: an integer of at least 1, or "
            "\"forever\"\n");
  EXPECT_EQ(render(read(text, {"data.repeat=forver"}).mistakes),
            "--set data.repeat=forver: data.repeat: wrong type; found \"forver\" (a string); allowed: an "
            "integer of at "
            "least 1, or \"forever\"; did you mean \"forever\"?\n");
}

TEST_F(JobFile, SchedulesAreTables) {
  const std::string text =
      replaced(job_text(file_), "learning_rate = 0.05",
               "learning_rate = { schedule = \"cosine\", initial = 1, warm_up = 5, steps = 100, "
               "final = 0.1 }");
  const ScheduleConfig rate = read(text).job->train.optimizer.learning_rate;
  EXPECT_EQ(rate.kind, ScheduleKind::cosine);
  EXPECT_EQ(rate.initial, 1.0);  // an integer serves where a number is wanted
  EXPECT_EQ(rate.warm_up, 5u);
  EXPECT_EQ(rate.steps, 100u);
  EXPECT_EQ(rate.final_rate, 0.1);
}

TEST_F(JobFile, UnknownKeysAndTablesNameTheNearest) {
  EXPECT_EQ(mistakes("batch", "bathc"),
            "job.toml:13:3: train.bathc: unknown key; did you mean train.batch?\n");
  EXPECT_EQ(mistakes("[cluster]", "[clustr]"),
            "job.toml:19:2: clustr: unknown table; did you mean cluster?\n");
  EXPECT_EQ(mistakes("hidden", "hiden"),
            "job.toml:5:1: model.hiden: unknown key; did you mean model.hidden?\n");
  EXPECT_EQ(mistakes("train_images", "train_image"),
            "job.toml:8:1: data.train_image: unknown key; did you mean data.train_images?\n");
  EXPECT_EQ(mistakes("epochs = 2", "replicas = 2"),
            "job.toml:14:1: train.replicas: unknown key; did you mean cluster.replicas?\n");
  EXPECT_EQ(mistakes("heartbeat = \"100ms\"", "qqq = 1"),
            "job.toml:23:1: cluster.detect.qqq: unknown key; allowed: heartbeat or patience\n");
}

TEST_F(JobFile, WrongTypesAreSaidInWords) {
  EXPECT_EQ(mistakes("batch = 16", "batch = \"16\""),
            "job.toml:13:11: train.batch: wrong type; found \"16\" (a string); allowed: an integer from 1 to "
            "16777216\n");
  EXPECT_EQ(mistakes("batch = 16", "batch = 1.5"),
            "job.toml:13:11: train.batch: wrong type; found 1.5 (a number); allowed: an integer from 1 to "
            "16777216\n");
  EXPECT_EQ(
      mistakes("batch = 16", "batch = { x = 1 }"),
      "job.toml:13:11: train.batch: wrong type; found a table; allowed: an integer from 1 to 16777216\n");
  EXPECT_EQ(mistakes("batch = 16", "batch = 2020-01-01"),
            "job.toml:13:11: train.batch: wrong type; found a date or time; allowed: an integer from 1 to "
            "16777216\n");
  EXPECT_EQ(mistakes("shuffle = true", "shuffle = \"True\""),
            "job.toml:9:11: data.shuffle: wrong type; found \"True\" (a string); allowed: true or false; did "
            "you mean "
            "true?\n");
  EXPECT_EQ(mistakes("learning_rate = 0.05", "learning_rate = \"fast\""),
            "job.toml:18:17: train.optimizer.learning_rate: wrong type; found \"fast\" (a string); allowed: "
            "a number "
            "above 0, or a table with schedule\n");
  EXPECT_EQ(
      mistakes("hidden = [100, 10]", "hidden = [100, \"x\"]"),
      "job.toml:5:10: model.hidden: wrong type; found a list that holds \"x\" (a string); allowed: a list of "
      "integers, each of at least 1\n");
  EXPECT_EQ(mistakes("\n[data]", "\n[[data]]"),
            "job.toml:6:1: data: wrong type; found a list; allowed: a table\n");
}

TEST_F(JobFile, ValuesOutOfRange) {
  EXPECT_EQ(mistakes("shards = 8", "shards = 0"),
            "job.toml:12:10: train.shards: out of range; found 0; allowed: an integer from 1 to 65536\n");
  EXPECT_EQ(
      mistakes("seed = 7", "seed = -1"),
      "job.toml:2:8: seed: out of range; found -1; allowed: an integer from 0 to 9223372036854775807\n");
  EXPECT_EQ(mistakes("learning_rate = 0.05", "learning_rate = 0"),
            "job.toml:18:17: train.optimizer.learning_rate: out of range; found 0.0; allowed: a number above "
            "0, or a "
            "table with schedule\n");
  EXPECT_EQ(mistakes("learning_rate = 0.05", "learning_rate = nan"),
            "job.toml:18:17: train.optimizer.learning_rate: out of range; found nan; allowed: a number above "
            "0, or a "
            "table with schedule\n");
  EXPECT_EQ(mistakes("name = \"sgd\"", "name = \"sgd\"\nmomentum = 1"),
            "job.toml:18:12: train.optimizer.momentum: out of range; found 1.0; allowed: a number of at "
            "least 0 and below "
            "1\n");
  EXPECT_EQ(mistakes("hidden = [100, 10]", "hidden = [100, 0]"),
            "job.toml:5:10: model.hidden: out of range; found a list that holds 0; allowed: a list of "
            "integers, each "
            "of at least 1\n");
  EXPECT_EQ(mistakes("name = \"sample\"", "name = \"\""),
            "job.toml:1:8: name: empty; found \"\"; allowed: a string that is not empty\n");
}

TEST_F(JobFile, UnknownValuesNameTheNearest) {
  EXPECT_EQ(mistakes("\"keep\"", "\"dorp\""),
            "job.toml:15:13: train.remainder: unknown value; found \"dorp\"; allowed: \"keep\", \"drop\" or "
            "\"pad\"; did "
            "you mean \"drop\"?\n");
  EXPECT_EQ(
      mistakes("\"sgd\"", "\"adma\""),
      "job.toml:17:8: train.optimizer.name: unknown value; found \"adma\"; allowed: \"sgd\", \"adam\" or "
      "\"adamw\"; did you mean \"adam\"?\n");
  EXPECT_EQ(mistakes("\"mlp\"", "\"mpl\""),
            "job.toml:4:8: model.name: unknown model; found \"mpl\"; allowed: \"fashion_cnn\" or \"mlp\"; "
            "did you mean "
            "\"mlp\"?\n");
  EXPECT_EQ(mistakes("\"idx\"", "\"csv\""),
            "job.toml:7:10: data.source: unknown source; found \"csv\"; allowed: \"idx\"\n");
  EXPECT_EQ(mistakes("hidden = [100, 10]", "activation = \"rleu\""),
            "job.toml:5:14: model.activation: unknown value; found \"rleu\"; allowed: \"relu\" or \"tanh\"; "
            "did you "
            "mean \"relu\"?\n");
}

TEST_F(JobFile, UnitsAreNeeded) {
  EXPECT_EQ(mistakes("\"64MiB\"", "64"),
            "job.toml:10:10: data.memory: wrong type; found 64 (an integer); allowed: a size of at least 1B: "
            "a whole "
            "number with a unit (B, KiB, MiB, GiB, TiB, kB, MB, GB or TB), such as \"64MiB\"\n");
  EXPECT_EQ(mistakes("\"100ms\"", "\"100mss\""),
            "job.toml:23:13: cluster.detect.heartbeat: unknown unit \"mss\"; found \"100mss\"; allowed: a "
            "duration from "
            "1ms to 8760h: a whole number with a unit (ms, s, min or h), such as \"500ms\", \"2s\" or "
            "\"10min\"; did you "
            "mean \"100ms\"?\n");
}

TEST_F(JobFile, ADurationOfMoreThanAYearIsOutOfRange) {
  const std::string found = mistakes("\"100ms\"", "\"2540400h\"");
  EXPECT_NE(found.find("out of range; found \"2540400h\"; allowed: a duration from 1ms to 8760h"),
            std::string::npos)
      << found;
}

TEST_F(JobFile, ADurationMayBeAutomaticWhereItSaysSo) {
  using std::chrono::milliseconds;
  EXPECT_EQ(read(job_text(file_)).job->cluster.straggler.patience, milliseconds(0));
  EXPECT_EQ(read(job_text(file_), {"cluster.straggler.patience=auto"}).job->cluster.straggler.patience,
            milliseconds(0));
  EXPECT_EQ(read(job_text(file_), {"cluster.straggler.patience=3s"}).job->cluster.straggler.patience,
            milliseconds(3000));
  const std::string text = job_text(file_) + "[cluster.straggler]\n";
  EXPECT_EQ(render(read(text + "patience = \"aut\"\n").mistakes),
            "job.toml:26:12: cluster.straggler.patience: does not start with a whole number; found \"aut\"; "
            "allowed: a duration from 1ms to 8760h: a whole number with a unit (ms, s, min or h), such as "
            "\"500ms\", \"2s\" or \"10min\", or \"auto\"; did you mean \"auto\"?\n");
  EXPECT_NE(render(read(text + "stuck_after = \"auto\"\n").mistakes), "") << "not here";
  EXPECT_NE(render(read(text + "patience = \"0s\"\n").mistakes), "");
}

TEST_F(JobFile, MissingFilesAndKeys) {
  EXPECT_EQ(mistakes(file_.path(), file_.folder() + "/train-image"),
            "job.toml:8:16: data.train_images: no such file; found \"" + file_.folder() +
                "/train-image\"; allowed: the path of a file that can be read; did you mean \"" +
                file_.path() + "\"?\n");
  EXPECT_EQ(mistakes(file_.path(), file_.folder()),
            "job.toml:8:16: data.train_images: a folder, not a file; found \"" + file_.folder() +
                "\"; allowed: the path of a file that can be read\n");
  EXPECT_EQ(mistakes("train_images = \"" + file_.path() + "\"", ""),
            "job.toml:6:2: data.train_images: missing; allowed: the path of a file that can be read\n");
  EXPECT_EQ(mistakes("name = \"mlp\"\nhidden = [100, 10]", ""),
            "job.toml:3:2: model.name: missing; allowed: \"fashion_cnn\" or \"mlp\"\n");
  EXPECT_EQ(render(read("").mistakes),
            "job.toml:1:1: model.name: missing; allowed: \"fashion_cnn\" or \"mlp\"\n"
            "job.toml:1:1: data.source: missing; allowed: \"idx\"\n");
}

TEST_F(JobFile, SyntaxErrorsHaveAPlace) {
  const ParsedJob parsed = read(replaced(job_text(file_), "shards = 8", "shards = = 8"));
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(parsed.mistakes[0].line, 12);
  EXPECT_EQ(parsed.mistakes[0].column, 10);
  EXPECT_EQ(parsed.mistakes[0].what.find("not valid TOML: "), 0u);
  const ParsedJob twice = read(job_text(file_) + "patience = \"9s\"\n");
  ASSERT_EQ(twice.mistakes.size(), 1u);
  EXPECT_EQ(twice.mistakes[0].line, 25);
}

TEST_F(JobFile, SeveralMistakesAreReportedTogether) {
  std::string text = replaced(job_text(file_), "bat", "bta");
  text = replaced(text, "shards = 8", "shards = 0");
  text = replaced(text, "\"keep\"", "\"kep\"");
  text = replaced(text, "[cluster]", "[cluster]\ndevices = [\"cpu:0\", \"cpu:0\"]");
  EXPECT_EQ(render(read(text, {"seed=x"}).mistakes),
            "job.toml:12:10: train.shards: out of range; found 0; allowed: an integer from 1 to 65536\n"
            "job.toml:13:3: train.btach: unknown key; did you mean train.batch?\n"
            "job.toml:15:13: train.remainder: unknown value; found \"kep\"; allowed: \"keep\", \"drop\" or "
            "\"pad\"; did "
            "you mean \"keep\"?\n"
            "job.toml:20:21: cluster.devices[1]: a device listed twice; found \"cpu:0\", also at "
            "cluster.devices[0]; "
            "allowed: each device once, or cluster.share_devices = true\n"
            "--set seed=x: seed: wrong type; found \"x\" (a string); allowed: an integer from 0 to "
            "9223372036854775807\n");
}

TEST_F(JobFile, ADeviceIsSharedIfTheJobSaysSo) {
  const std::string twice = "cluster.devices=[\"cuda:0\", \"cuda:0\"]";
  EXPECT_EQ(set_mistakes({"cluster.replicas=2", twice, "cluster.share_devices=true"}), "");
  EXPECT_NE(set_mistakes({"cluster.replicas=2", twice}).find("cluster.share_devices = true"),
            std::string::npos);
}

TEST_F(JobFile, OverridesAreCheckedAlike) {
  EXPECT_EQ(set_mistakes({"train.bathc=3"}),
            "--set train.bathc=3: train.bathc: unknown key; did you mean train.batch?\n");
  EXPECT_EQ(
      set_mistakes({"train.shards=0"}),
      "--set train.shards=0: train.shards: out of range; found 0; allowed: an integer from 1 to 65536\n");
  EXPECT_EQ(set_mistakes({"cluster.replicas=9"}),
            "--set cluster.replicas=9: cluster.replicas: more replicas than shards, some would idle; found "
            "9; allowed: "
            "at most train.shards = 8; did you mean 8?\n");
  EXPECT_EQ(set_mistakes({"train.shards"}),
            "--set train.shards: not an override; allowed: --set table.key=value\n");
  EXPECT_EQ(set_mistakes({"train..shards=1"}),
            "--set train..shards=1: not an override; allowed: --set table.key=value\n");
  EXPECT_EQ(set_mistakes({"name=\xff"}), "--set name=\xff: name: not valid UTF-8\n");
  EXPECT_EQ(set_mistakes({"train=5"}).substr(0, 45), "--set train=5: train: wrong type; found an in");
}

TEST_F(JobFile, OverridesWriteTomlOrText) {
  const std::string text = job_text(file_);
  const auto job = [&](const std::vector<std::string>& sets) { return read(text, sets).job.value(); };
  EXPECT_EQ(job({"name=plain words"}).name, "plain words");
  EXPECT_EQ(job({"name='quoted'"}).name, "quoted");
  EXPECT_EQ(job({"name=a=b"}).name, "a=b");
  EXPECT_EQ(job({"name=a\nseed=9"}).name, "a\nseed=9");
  EXPECT_EQ(job({"name=1 # x\nseed=9"}).name, "1 # x\nseed=9");  // no key of its own slips in
  EXPECT_EQ(job({"seed = 9"}).seed, 9u);
  EXPECT_EQ(job({"seed=8", "seed=9"}).seed, 9u);
  EXPECT_EQ(job({"model.hidden=[1,2,3]"}).model.options.at("hidden"),
            Option(std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(job({"cluster.listen=::1"}).cluster.listen, "::1");
  EXPECT_EQ(job({"data.memory=1GB"}).data.memory_bytes, 1000000000u);
  EXPECT_EQ(job({"train.optimizer.learning_rate=0.1"}).train.optimizer.learning_rate.initial, 0.1);
  EXPECT_EQ(job({"train.optimizer.learning_rate.warm_up=3"}).train.optimizer.learning_rate.warm_up, 3u);
}

TEST_F(JobFile, AnOverrideOfPartOfAShortFormKeepsTheRest) {
  const auto rate = [&](const std::vector<std::string>& sets) {
    return read(job_text(file_), sets).job.value().train.optimizer.learning_rate;
  };
  const auto rest = rate({"train.optimizer.learning_rate=0.05", "train.optimizer.learning_rate.warm_up=3"});
  EXPECT_EQ(rest.initial, 0.05);
  EXPECT_EQ(rest.warm_up, 3u);
  EXPECT_EQ(rate({"train.optimizer.learning_rate=0.05", "train.optimizer.learning_rate.initial=0.1"}).initial,
            0.1);
}

TEST_F(JobFile, AFileThatIsNotThereIsAMistake) {
  const std::string near = file_.folder() + "/job.toml";
  std::ofstream(near) << job_text(file_);
  EXPECT_TRUE(read_job_file(near, {}, declarations_).job);
  EXPECT_EQ(render(read_job_file(file_.folder() + "/jbo.toml", {}, declarations_).mistakes),
            file_.folder() + "/jbo.toml: no such file; allowed: a job file; did you mean " + near + "?\n");
  EXPECT_EQ(render(read_job_file(file_.folder(), {}, declarations_).mistakes),
            file_.folder() + ": a folder, not a file; allowed: a job file\n");
  std::ofstream(near) << std::string(300 << 10, '#');
  EXPECT_EQ(render(read_job_file(near, {}, declarations_).mistakes),
            near + ": too long; found 262145 bytes; allowed: at most 262144 bytes\n");
}

}  // namespace
}  // namespace muster
