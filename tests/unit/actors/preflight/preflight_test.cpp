#include "actors/preflight/memory_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "actors/preflight/preflight_text.hpp"
#include "gpu/device.hpp"
#include "muster/error.hpp"
#include "muster/job_file.hpp"
#include "tests/support/broken_parts.hpp"
#include "tests/support/sanitized.hpp"

namespace muster {
namespace {

/// Like batch normalization: a row's result depends on the others.
class MixingModel : public Model {
 public:
  MixingModel() { layout_.add_parameter("w", {4}); }
  const Layout& layout() const override { return layout_; }
  void initialize(std::uint64_t, std::span<float> state) override {
    std::fill(state.begin(), state.end(), 0.0f);
  }
  bool mixes_samples() const override { return true; }
  Metrics gradient(std::span<const float>, const Batch&, const StepKey&, std::span<float> gradient) override {
    std::ranges::fill(gradient, 0.0f);
    return {};
  }
  Metrics evaluate(std::span<const float>, const Batch&) override { return {}; }

 private:
  Layout layout_;
};

Registry registry_with_mixing() {
  Registry registry = builtin_registry();
  registry.add_model("mixing", {},
                     [](const Options&, const ModelContext&) { return std::make_unique<MixingModel>(); });
  return registry;
}

const std::string kJob =
    "[model]\nname = \"linear\"\ninputs = 8\noutputs = 3\n"                      // 1 to 4
    "[data]\nsource = \"synthetic\"\nsamples = 1237\ninputs = 8\noutputs = 3\n"  // 5 to 9
    "[train]\nshards = 5\nbatch = 16\n"                                          // 10 to 12
    "[cluster]\nreplicas = 2\n";                                                 // 13, 14

Preflight look(const std::string& text) {
  const Registry registry = registry_with_mixing();
  const ParsedJob parsed = read_job_text(text, "job.toml", {}, registry.declarations());
  EXPECT_TRUE(parsed.job) << render(parsed.mistakes);
  return parsed.job ? preflight(*parsed.job, parsed.places, registry) : Preflight{};
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kJob;
  return text.replace(text.find(from), from.size(), to);
}

void expect_mistake(const std::string& text, const std::string& place,
                    const std::vector<std::string>& parts) {
  const std::string said = render(look(text).mistakes);
  EXPECT_NE(said.find("job.toml:" + place + ": "), std::string::npos) << said;
  for (const std::string& part : parts)
    EXPECT_NE(said.find(part), std::string::npos) << part << "\nnot in " << said;
}

TEST(Preflight, SeesWhatWillRun) {
  const Preflight flight = look(kJob);
  ASSERT_TRUE(flight.mistakes.empty()) << render(flight.mistakes);
  EXPECT_EQ(flight.facts.samples, 1237);
  EXPECT_EQ(flight.facts.steps_per_epoch, 16u);
  EXPECT_EQ(flight.facts.dropped, 0u);
  EXPECT_EQ(flight.facts.take_asked, -1);
  EXPECT_FALSE(flight.facts.unit_is_batch);
  EXPECT_EQ(flight.samples_of_shard, (std::vector<std::uint64_t>{248, 248, 247, 247, 247}));
  EXPECT_EQ(flight.layout.parameters, 27u);
  EXPECT_EQ(flight.placement.devices.size(), 2u);
  EXPECT_EQ(flight.prefetch_depth, 2u);
  EXPECT_EQ(flight.job.train.epochs, 1u);
}

TEST(Preflight, DevicesThatAreNotThere) {
  expect_mistake(with("replicas = 2", "replicas = 1\ndevices = [\"cpu:4096\"]"), "15:12",
                 {"\"cpu:4096\"", "this node has cpu:0", "did you mean"});
  const DeviceInventory here = discover_devices();
  const std::string cuda = "cuda:" + std::to_string(here.cuda_devices);
  expect_mistake(with("replicas = 2", "replicas = 1\ndevices = [\"" + cuda + "\"]"), "15:12",
                 {"\"" + cuda + "\"", "not there", here.cuda_reason});
}

TEST(Preflight, SeveralMistakesAreFoundTogether) {
  std::string text = with("replicas = 2", "replicas = 2\ndevices = [\"cpu:4096\", \"cpu:4097\"]");
  text.replace(text.find("samples = 1237"), 14, "samples = 1237\nskip = 5000");
  const Preflight flight = look(text);
  EXPECT_EQ(flight.mistakes.size(), 3u) << render(flight.mistakes);
}

/// Its gradient is what lies far behind its samples. Remembers what its first call found there.
class ModelThatReadsBeyond final : public MixingModel {
 public:
  Metrics gradient(std::span<const float>, const Batch& batch, const StepKey&,
                   std::span<float> gradient) override {
    const auto samples = batch.tensors[0].as<float>();
    const float found = samples.data()[samples.size() + 100'000];
    if (!first_found) first_found = found;
    std::ranges::fill(gradient, found);
    return {};
  }

  inline static std::optional<float> first_found;
};

TEST(Preflight, AModelThatReadsFarBeyondItsSamplesIsNamedAndDoesNotCrash) {
  Registry registry = builtin_registry();
  registry.add_model("beyond", {}, [](const Options&, const ModelContext&) {
    return std::make_unique<ModelThatReadsBeyond>();
  });
  const std::string text = with("name = \"linear\"\ninputs = 8\noutputs = 3\n", "name = \"beyond\"\n");
  const ParsedJob parsed = read_job_text(text, "job.toml", {}, registry.declarations());
  ASSERT_TRUE(parsed.job) << render(parsed.mistakes);
  const std::string said = render(preflight(*parsed.job, parsed.places, registry).mistakes);
  ASSERT_TRUE(ModelThatReadsBeyond::first_found);
  EXPECT_TRUE(std::isnan(*ModelThatReadsBeyond::first_found)) << "the first call found other memory";
  EXPECT_NE(said.find("gradient() reads beyond the end of its"), std::string::npos) << said;
}

TEST(Preflight, PaddingIsRefusedWhereSamplesMix) {
  std::string text = with("name = \"linear\"\ninputs = 8\noutputs = 3\n", "name = \"mixing\"\n");
  EXPECT_TRUE(look(text).mistakes.empty());
  text.replace(text.find("batch = 16"), 10, "batch = 16\nremainder = \"pad\"");
  expect_mistake(text, "11:13", {"train.remainder", "\"pad\"", "mixing", "batch normalization"});
}

TEST(Preflight, MixedPrecisionIsRefusedForModelsThatHaveNone) {
  expect_mistake(with("batch = 16", "batch = 16\nprecision = \"bfloat16\""), "13:13",
                 {"train.precision", "\"bfloat16\"", "linear", "float32 only"});
}

TEST(Preflight, CutThatLeavesNothing) {
  expect_mistake(with("samples = 1237", "samples = 1237\nskip = 1237"), "8:8",
                 {"data.skip", "nothing is left"});
}

TEST(Preflight, DropThatLeavesNothing) {
  expect_mistake(with("batch = 16", "batch = 300\nremainder = \"drop\""), "13:13",
                 {"train.remainder", "1500"});
}

TEST(Preflight, MemoryThatHoldsNotOneMicroBatch) {
  expect_mistake(with("samples = 1237", "samples = 1237\nmemory = \"1KiB\""), "8:10", {"data.memory"});
}

TEST(Preflight, TakeOfMoreThanThereIsIsNoMistake) {
  const Preflight flight = look(with("samples = 1237", "samples = 1237\ntake = 2000\nskip = 37"));
  EXPECT_TRUE(flight.mistakes.empty());
  EXPECT_EQ(flight.facts.take_asked, 2000);
  EXPECT_EQ(flight.facts.take_had, 1200);
}

TEST(Preflight, MemoryIsCounted) {
  const Preflight flight = look(kJob);
  const std::uint64_t state = 27 * sizeof(float);
  const MemoryPlan first = memory_of(flight, 0), second = memory_of(flight, 1);
  EXPECT_EQ(first.state, state);
  EXPECT_EQ(first.gradient, 2 * state) << "its own, and that of a shard that it audits";
  EXPECT_EQ(first.optimizer, 0u);
  EXPECT_EQ(first.accumulator, Accumulator::bytes_max(5, 0, 3, 27));
  EXPECT_EQ(second.accumulator, Accumulator::bytes_max(5, 3, 5, 27));
  EXPECT_EQ(first.loading, 2 * 3 * flight.micro_batch_bytes + flight.resident_bytes);
  EXPECT_EQ(first.batch, flight.host_batch.bytes);
  EXPECT_EQ(first.total(), first.state + first.gradient + first.accumulator + first.optimizer +
                               first.staging + first.loading + first.batch);
  const Preflight adam = look(kJob + "[train.optimizer]\nname = \"adam\"\n");
  EXPECT_EQ(memory_of(adam, 0).optimizer, 2 * state);
}

// A model that takes 64 MiB while it computes.
class HungryModel : public MixingModel {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  Metrics gradient(std::span<const float>, const Batch&, const StepKey&, std::span<float> gradient) override {
    std::ranges::fill(gradient, 0.0f);
    std::vector<char> much(kBytes);
    for (std::size_t i = 0; i < much.size(); i += 1024) static_cast<volatile char*>(much.data())[i] = 1;
    return {};
  }
};

TEST(Preflight, AMicroBatchIsComputedToSeeWhatItTakes) {
  if (kSanitized) return;  // a sanitizer keeps what is freed
  Registry registry = builtin_registry();
  registry.add_model("mixing", {},
                     [](const Options&, const ModelContext&) { return std::make_unique<HungryModel>(); });
  const ParsedJob parsed =
      read_job_text(with("name = \"linear\"\ninputs = 8\noutputs = 3\n", "name = \"mixing\"\n"), "job.toml",
                    {}, registry.declarations());
  ASSERT_TRUE(parsed.job) << render(parsed.mistakes);
  const Preflight flight = preflight(*parsed.job, parsed.places, registry);
  ASSERT_TRUE(flight.mistakes.empty()) << render(flight.mistakes);
  ASSERT_TRUE(flight.host_batch.known) << flight.host_batch.how;
  EXPECT_NEAR(static_cast<double>(flight.host_batch.bytes), HungryModel::kBytes, 8 << 20);
  EXPECT_NE(text_of(memory_of(flight, 0)).find(", a micro-batch "), std::string::npos);
  const Preflight by_hand = preflight(*parsed.job, parsed.places, registry, Trial::nowhere);
  EXPECT_FALSE(by_hand.host_batch.known);
}

/// Larger than any machine, and no memory is there for it.
class VastModel : public MixingModel {
 public:
  VastModel() { layout_.add_parameter("w", {std::int64_t{1} << 46}); }
  const Layout& layout() const override { return layout_; }

 private:
  Layout layout_;
};

Preflight look_at_parts(const std::string& model, const std::string& source) {
  Registry registry;
  registry.add_model("regression", {}, [=](const Options&, const ModelContext&) {
    return std::make_unique<broken::Regression>(model, 2);
  });
  registry.add_source("sums", {}, [=](const Options&) {
    return Dataset{std::make_unique<broken::Sums>(source, 200), nullptr};
  });
  const ParsedJob parsed = read_job_text(
      "[model]\nname = \"regression\"\n[data]\nsource = \"sums\"\n[train]\nshards = 2\nbatch = 8\n",
      "job.toml", {}, registry.declarations());
  EXPECT_TRUE(parsed.job) << render(parsed.mistakes);
  return preflight(*parsed.job, parsed.places, registry);
}

TEST(Preflight, BrokenContractsAreMistakesOfTheirKey) {
  const Preflight good = look_at_parts("", "");
  EXPECT_TRUE(good.mistakes.empty()) << render(good.mistakes);
  EXPECT_EQ(good.contract.done.size(), 10u)
      << "3 checks of the source, 7 of the model, for there is no test data";
  const auto expect = [](const Preflight& flight, const std::string& start) {
    EXPECT_EQ(render(flight.mistakes).rfind(start, 0), 0u) << render(flight.mistakes);
  };
  expect(look_at_parts("mean", ""),
         "job.toml:2:8: model.name: breaks the contract 'a gradient is a sum over samples'");
  expect(look_at_parts("two-names", ""),
         "job.toml:2:8: model.name: breaks the contract 'the layout names each");
  expect(look_at_parts("throw", ""),
         "job.toml:2:8: model.name: breaks the contract 'a model computes what the source gives': no such "
         "table");
  expect(look_at_parts("", "size"),
         "job.toml:4:10: data.source: breaks the contract 'each sample can be read");
}

TEST(Preflight, OfNodesElsewhereNothingIsSaidAboutTheCoresHere) {
  Job job = look(kJob).job;
  job.train.shards = job.cluster.replicas = 4096;
  const auto notices_of = [&](Trial trial) {
    return preflight(job, {}, registry_with_mixing(), trial).placement.notices;
  };
  const auto of_cores = [](const std::string& notice) { return notice.find(" share ") != std::string::npos; };
  EXPECT_TRUE(std::ranges::none_of(notices_of(Trial::nowhere), of_cores));
}

TEST(Preflight, SurvivesTheWayFromAnotherProcess) {
  const Registry registry = registry_with_mixing();
  const Preflight flight = look(kJob);
  const Preflight read = preflight_of_text(to_text(flight), registry.declarations());
  EXPECT_EQ(to_text(read), to_text(flight));
  EXPECT_EQ(read.job, flight.job);
  EXPECT_EQ(read.facts, flight.facts);
  EXPECT_EQ(text_of(memory_of(read, 1)), text_of(memory_of(flight, 1)));
  Preflight wrong;
  wrong.mistakes.push_back(mistake_at({}, "train.batch", "out of range", "0", "1 to 9", "train.shards"));
  EXPECT_EQ(preflight_of_text(to_text(wrong), registry.declarations()).mistakes, wrong.mistakes);
  EXPECT_THROW(preflight_of_text("{}", registry.declarations()), Error);
}

TEST(Preflight, SizesAreComparedBeforeTheyAreTaken) {
  Registry registry = builtin_registry();
  registry.add_model("vast", {},
                     [](const Options&, const ModelContext&) { return std::make_unique<VastModel>(); });
  const ParsedJob parsed =
      read_job_text(with("name = \"linear\"\ninputs = 8\noutputs = 3", "name = \"vast\""), "job.toml", {},
                    registry.declarations());
  ASSERT_TRUE(parsed.job) << render(parsed.mistakes);
  const std::string said = render(preflight(*parsed.job, parsed.places, registry).mistakes);
  EXPECT_NE(said.find("cluster.replicas: more memory than there is on this machine"), std::string::npos)
      << said;
  EXPECT_NE(said.find("(state 256.0 TiB, "), std::string::npos) << said;
}

TEST(Preflight, WhatDoesNotFitTheMachineIsRefusedWithTheNumbers) {
  Preflight flight = look(kJob);
  ASSERT_TRUE(check_memory(flight, {}).empty());
  flight.host_batch.bytes = std::uint64_t{3} << 30;
  flight.host_room = {std::uint64_t{4} << 30, ""};
  const std::string said = render(check_memory(flight, {}));
  EXPECT_EQ(said.find("cluster.replicas: more memory than there is on this machine; found 6.0 GiB for 2 "
                      "replicas, one takes 3.0 GiB (state 108 B, "),
            0u)
      << said;
  EXPECT_NE(said.find(", a micro-batch 3.0 GiB, "), std::string::npos) << said;
  EXPECT_NE(said.find("allowed: at most 4.0 GiB, so fewer replicas on it; a smaller train.batch"),
            std::string::npos)
      << said;
  flight.host_room.bound = "/job";
  EXPECT_EQ(render(check_memory(flight, {}))
                .find("cluster.replicas: more memory than there is on this machine within the limit of its "
                      "control group /job; found 6.0 GiB"),
            0u);
  flight.host_room = {};  // not known
  EXPECT_TRUE(check_memory(flight, {}).empty());
}

TEST(Preflight, WhatDoesNotFitAGpuIsRefusedWithTheNumbers) {
  Preflight flight = look(kJob);
  flight.placement.devices = {"cuda:0", "cuda:1"};
  flight.gpu_batch.bytes = std::uint64_t{70} << 30;
  const MemoryPlan plan = memory_of(flight, 0);
  EXPECT_EQ(plan.batch, flight.gpu_batch.bytes);
  EXPECT_EQ(plan.loading + plan.staging, 0u);  // of the host, and so is the gradient on its way
  EXPECT_GT(plan.on_host, plan.gradient + flight.resident_bytes);
  EXPECT_FALSE(flight.sums_on_gpus);
  flight.sums_on_gpus = true;
  const MemoryPlan gpu_to_gpu = memory_of(flight, 0);
  EXPECT_GT(gpu_to_gpu.staging, 0u);
  EXPECT_EQ(gpu_to_gpu.total(), plan.total() + gpu_to_gpu.staging);
  EXPECT_LE(gpu_to_gpu.on_host + plan.state + gpu_to_gpu.staging, plan.on_host);
  flight.sums_on_gpus = false;
  flight.gpu_room = {{"cuda:0", std::uint64_t{80} << 30}, {"cuda:1", std::uint64_t{80} << 30}};
  EXPECT_TRUE(check_memory(flight, {}).empty());
  flight.placement.devices[1] = "cuda:0";  // they share it
  const std::string said = render(check_memory(flight, {}));
  EXPECT_EQ(said.find("cluster.devices: more memory than there is on cuda:0; found 140.0 GiB for 2 replicas"),
            0u)
      << said;
  EXPECT_NE(said.find("allowed: at most 80.0 GiB"), std::string::npos) << said;
  flight.placement.devices[1] = "cuda:1";
  flight.job.cluster.device_memory_bytes = std::uint64_t{60} << 30;
  EXPECT_EQ(
      render(check_memory(flight, {})).find("cluster.device_memory: too little for a replica; found 60GiB"),
      0u)
      << render(check_memory(flight, {}));
}

}  // namespace
}  // namespace muster
