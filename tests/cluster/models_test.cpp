// The larger built-in models in real processes: falling loss, and the bits of a plain loop on 1 to 3
// replicas.
#ifdef MUSTER_WITH_TORCH
#include "tests/cluster/same_bits.hpp"

namespace muster::models_test {
namespace {

using namespace muster::cluster_test;

void expect_falling_loss(const Json& report) {
  const Json& training = report["training"];
  ASSERT_GE(training.size(), 2u);
  for (std::size_t epoch = 1; epoch < training.size(); ++epoch)
    EXPECT_LT(training[epoch]["loss"], training[epoch - 1]["loss"]) << training;
}

/// On 1, 2 and 3 replicas; the plain loop runs once for each, for its bits are part of what is compared.
void expect_trains_alike(const std::string& text, const std::vector<std::string>& sets) {
  std::string weights;
  for (const char* replicas : {"1", "2", "3"}) {
    const Folder folder;
    const std::string file = folder.write("job.toml", text);
    const RunResult run = [&] {
      Arguments arguments = overrides(sets);
      arguments.insert(arguments.end(), {"--replicas", replicas});
      return run_job(file, folder, arguments);
    }();
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
    expect_falling_loss(run.report);
    if (weights.empty()) weights = train_plainly(file, sets).weights_sha256;
    EXPECT_EQ(run.report["weights_sha256"], weights) << replicas << " replicas";
  }
}

TEST(SameBitsWith, AResNetAndItsRunningStatistics) {
  std::string text = fashion_job("resnet18");
  text.replace(text.find("[data]"), 0, "channels = 1\nside = 28\nwidth = 8\n");
  expect_trains_alike(text, {"train.evaluate=false", "data.take=91", "train.batch=8", "train.epochs=3"});
}

/// 641 letters, each following from the one before: 13 windows of 48, and one of 16.
std::string letters() {
  std::string text;
  for (int i = 0; i < 641; ++i) text += static_cast<char>('a' + (i * i + 3 * i) % 26);
  return text;
}

std::string decoder_job(const std::string& tokens) {
  return "name = \"decoder\"\nseed = 7\n[model]\nname = \"gpt2\"\nlayers = 2\nheads = 2\nwidth = 16\ncontext "
         "= "
         "48\nvocabulary = 128\n[data]\nsource = \"tokens\"\ntrain = \"" +
         tokens +
         "\"\ntype = \"uint8\"\nvocabulary = 128\ncontext = 48\n[train]\nshards = 5\nbatch = 1\nepochs = 3\n"
         "[train.optimizer]\nname = \"adamw\"\nlearning_rate = 0.01\n[cluster]\nreplicas = 3\n";
}

TEST(SameBitsWith, ADecoderOverTokens) {
  const Folder folder;
  expect_trains_alike(decoder_job(folder.write("tokens", letters())), {});
}

TEST(SameBitsWith, ADecoderWithDropout) {
  const Folder folder;
  expect_trains_alike(decoder_job(folder.write("tokens", letters())),
                      {"model.dropout=0.1", "train.optimizer.learning_rate=0.02"});
}

TEST(SameBitsWith, ADecoderInMixedPrecision) {
  const Folder folder;
  const std::string tokens = folder.write("tokens", letters());
  expect_trains_alike(decoder_job(tokens), {"train.precision=bfloat16"});
  const std::string file = folder.write("job.toml", decoder_job(tokens));
  EXPECT_NE(train_plainly(file, {"train.precision=bfloat16"}).weights_sha256,
            train_plainly(file, {}).weights_sha256);
}

TEST(SameBitsWith, AResNetInMixedPrecision) {
  std::string text = fashion_job("resnet18");
  text.replace(text.find("[data]"), 0, "channels = 1\nside = 28\nwidth = 8\n");
  expect_trains_alike(text, {"train.precision=bfloat16", "train.evaluate=false", "data.take=91",
                             "train.batch=8", "train.epochs=3"});
}

// Each token but the first is predicted once: the loss of a model that knows nothing is that of a fair guess.
TEST(SameBitsWith, AWindowThatIsNotFull) {
  const Folder folder;
  const std::string tokens = folder.write("tokens", letters());
  const std::string text = decoder_job(tokens);
  const RunResult run = run_job(
      folder.write("job.toml", text), folder,
      overrides({"train.epochs=1", "train.optimizer.learning_rate=1e-9", "data.test=\"" + tokens + "\""}));
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["samples"], 14);
  EXPECT_NEAR(run.report["training"][0]["loss"].get<double>(), 4.852, 0.2);  // log 128
  EXPECT_NEAR(run.report["evaluation"][0]["loss"].get<double>(),
              run.report["training"][0]["loss"].get<double>(), 1e-4);
}

}  // namespace
}  // namespace muster::models_test
#endif
