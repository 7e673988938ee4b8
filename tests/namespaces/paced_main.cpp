// Muster with one more source, "paced": samples of a fixed function that come slowly, as from a slow disk,
// until a file appears; then at once. So a test decides how long a run lasts, without a word on how fast the
// machine is. It reads nothing as long as there is a file with the number of its process: so a test freezes
// the thread that loads. And with one more model, "held": the linear one, which computes nothing as long as
// there is a file with the number of its process: so a test decides who is slow. And a third, "taking", whose
// gradients take a given time, as on a device of its own, until a file appears: however large it is,
// computing it takes no core.
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "actors/sources/mix.hpp"
#include "gpu/analytic/linear.hpp"
#include "muster/command_line.hpp"
#include "muster/fingerprint.hpp"
#include "muster/random.hpp"
#include "muster/source.hpp"
#include "tests/namespaces/failing.hpp"
#include "tests/namespaces/flipping.hpp"

namespace {

constexpr std::int64_t kInputs = 64;
constexpr int kPaceMs = 1;  // of each sample

class PacedSource : public muster::IndexedSource {
 public:
  PacedSource(std::uint64_t samples, std::string gate, const std::string& hold)
      : samples_(samples), gate_(std::move(gate)), hold_(hold + "." + std::to_string(::getpid())) {}

  std::uint64_t size() const override { return samples_; }
  const std::vector<muster::Field>& fields() const override { return fields_; }
  void read(std::uint64_t index, muster::Row row) override {
    while (::access(hold_.c_str(), F_OK) == 0) ::poll(nullptr, 0, kPaceMs);
    if (!open_ && !(open_ = ::access(gate_.c_str(), F_OK) == 0)) ::poll(nullptr, 0, kPaceMs);
    muster::SplitMix64 random(muster::mix(3, index));
    float sum = 0;
    for (std::int64_t i = 0; i < kInputs; ++i) {
      const float value = random.next_signed_unit();
      std::memcpy(row[0].data() + i * sizeof value, &value, sizeof value);
      sum += value;
    }
    std::memcpy(row[1].data(), &sum, sizeof sum);
  }
  std::string fingerprint() const override {
    muster::Fingerprint print;
    print.add("paced");
    print.add(samples_);
    return print.hex();
  }

 private:
  std::uint64_t samples_;
  std::string gate_, hold_;
  bool open_ = false;
  std::vector<muster::Field> fields_{{muster::DType::float32, {kInputs}}, {muster::DType::float32, {1}}};
};

std::vector<muster::OptionSpec> options() {
  muster::OptionSpec samples;
  samples.key = "samples";
  samples.type = muster::OptionType::integer;
  samples.help = "number of samples";
  samples.minimum = 1;
  muster::OptionSpec gate;
  gate.key = "gate";
  gate.type = muster::OptionType::text;
  gate.help = "once this file is there, samples come at once";
  muster::OptionSpec hold;
  hold.key = "hold";
  hold.type = muster::OptionType::text;
  hold.help = "while the file of this name, a dot and the number of the process is there, nothing is read";
  hold.default_value.emplace(std::string("/nowhere/hold"));
  return {samples, gate, hold};
}

muster::Dataset make(const muster::Options& given) {
  const auto samples = static_cast<std::uint64_t>(muster::option<std::int64_t>(given, "samples"));
  return {std::make_unique<PacedSource>(samples, muster::option<std::string>(given, "gate"),
                                        muster::option<std::string>(given, "hold")),
          nullptr};
}

class HeldModel : public muster::Model {
 public:
  HeldModel(std::unique_ptr<muster::Model> model, const std::string& hold)
      : model_(std::move(model)), hold_(hold + "." + std::to_string(::getpid())) {}

  const muster::Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  muster::Metrics gradient(std::span<const float> state, const muster::Batch& batch,
                           const muster::StepKey& key, std::span<float> gradient) override {
    while (::access(hold_.c_str(), F_OK) == 0) ::poll(nullptr, 0, kPaceMs);
    return model_->gradient(state, batch, key, gradient);
  }
  muster::Metrics evaluate(std::span<const float> state, const muster::Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  std::unique_ptr<muster::Model> model_;
  std::string hold_;
};

std::vector<muster::OptionSpec> held_options() {
  std::vector<muster::OptionSpec> all = muster::linear_options();
  muster::OptionSpec hold;
  hold.key = "hold";
  hold.type = muster::OptionType::text;
  hold.help =
      "while the file of this name, a dot and the number of the process is there, nothing is computed";
  all.push_back(hold);
  return all;
}

std::unique_ptr<muster::Model> make_held(const muster::Options& given, const muster::ModelContext& context) {
  return std::make_unique<HeldModel>(muster::make_linear(given, context),
                                     muster::option<std::string>(given, "hold"));
}

class TakingModel : public muster::Model {
 public:
  TakingModel(std::unique_ptr<muster::Model> model, int takes_ms, std::string gate)
      : model_(std::move(model)), takes_ms_(takes_ms), gate_(std::move(gate)) {}

  const muster::Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  muster::Metrics gradient(std::span<const float> state, const muster::Batch& batch,
                           const muster::StepKey& key, std::span<float> gradient) override {
    if (::access(gate_.c_str(), F_OK) != 0) ::poll(nullptr, 0, takes_ms_);
    return model_->gradient(state, batch, key, gradient);
  }
  muster::Metrics evaluate(std::span<const float> state, const muster::Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  std::unique_ptr<muster::Model> model_;
  int takes_ms_;
  std::string gate_;
};

std::vector<muster::OptionSpec> taking_options() {
  std::vector<muster::OptionSpec> all = muster::linear_options();
  muster::OptionSpec takes;
  takes.key = "takes_ms";
  takes.type = muster::OptionType::integer;
  takes.help = "what a gradient takes";
  takes.minimum = 1;
  all.push_back(takes);
  muster::OptionSpec gate;
  gate.key = "gate";
  gate.type = muster::OptionType::text;
  gate.help = "once this file is there, gradients take no time";
  all.push_back(gate);
  return all;
}

std::unique_ptr<muster::Model> make_taking(const muster::Options& given,
                                           const muster::ModelContext& context) {
  return std::make_unique<TakingModel>(muster::make_linear(given, context),
                                       static_cast<int>(muster::option<std::int64_t>(given, "takes_ms")),
                                       muster::option<std::string>(given, "gate"));
}

}  // namespace

int main(int argc, char** argv) {
  muster::Registry registry = muster::builtin_registry();
  registry.add_source("paced", options(), make);
  registry.add_model("held", held_options(), make_held);
  registry.add_model("taking", taking_options(), make_taking);
  muster::failing::add_to(registry);
  muster::flipping::add_to(registry);
  return muster::main(argc, argv, registry);
}
