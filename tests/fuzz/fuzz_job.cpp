// Job files and overrides (muster/job_file.hpp). Up to the first zero byte it is the file; then come
// overrides, with zero bytes between them.
#include <algorithm>

#include "muster/job_file.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

const Declarations& declarations() {
  static const Declarations all = [] {
    const auto spec = [](std::string key, OptionType type, std::optional<Option> value) {
      return OptionSpec{std::move(key), type, "Serves the tests.", std::move(value), {}, {}, {}};
    };
    Declarations made;
    made.models["mlp"] = {spec("hidden", OptionType::integers, Option(std::vector<std::int64_t>{128, 64})),
                          spec("dropout", OptionType::number, Option(0.0)),
                          spec("bias", OptionType::boolean, Option(true)),
                          spec("activation", OptionType::text, Option(std::string("relu")))};
    made.models["mlp"].back().allowed = {"relu", "tanh"};
    made.sources["idx"] = {spec("train_images", OptionType::path, std::nullopt)};
    return made;
  }();
  return all;
}

// The program itself: a file that is there.
constexpr const char* kJob = R"(name = "sample"
seed = 7
[model]
name = "mlp"
hidden = [100, 10]
[data]
source = "idx"
train_images = "/proc/self/exe"
shuffle = true
memory = "64MiB"
[train]
shards = 8
batch = 16
epochs = 2
remainder = "keep"
[train.optimizer]
name = "sgd"
learning_rate = { schedule = "cosine", initial = 0.1, steps = 100, warm_up = 10 }
[cluster]
replicas = 2
devices = ["cpu:0", "cpu:1"]
listen = "127.0.0.1"
[cluster.detect]
heartbeat = "100ms"
patience = "10s"
)";

}  // namespace

bool accepts(Input input) {
  std::vector<std::string> parts{{}};
  for (const char letter : text_of(input)) {
    if (letter == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  const std::vector<std::string> sets(parts.begin() + 1, parts.end());
  const ParsedJob parsed = read_job_text(parts[0], "job.toml", sets, declarations());
  MUSTER_CHECK(parsed.job.has_value() == parsed.mistakes.empty(), parsed.mistakes.size());
  const std::string shown = render(parsed.mistakes);
  MUSTER_CHECK(static_cast<std::size_t>(std::ranges::count(shown, '\n')) == parsed.mistakes.size(), shown);
  for (const Mistake& mistake : parsed.mistakes) {
    MUSTER_CHECK(!mistake.set.empty() || (mistake.line >= 1 && mistake.column >= 1), render(mistake));
  }
  if (!parsed.job) return false;
  const std::string text = to_toml(*parsed.job);
  const ParsedJob again = read_job_text(text, "again.toml", {}, declarations());
  MUSTER_CHECK(again.job == parsed.job, render(again.mistakes), text);
  return true;
}

std::vector<Bytes> seeds() {
  const std::string job = kJob;
  const std::string zero(1, '\0');
  return {bytes_of(job), bytes_of(job + zero + "train.epochs=3" + zero + "name=some words"),
          bytes_of(job + zero + "train.optimizer={name=\"adam\", learning_rate=1e-3}")};
}

}  // namespace muster::fuzz
