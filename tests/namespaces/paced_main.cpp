// Muster with one more source, "paced": samples of a fixed function that come slowly, as from a slow disk,
// until a file appears; then at once. So a test decides how long a run lasts, without a word on how fast the
// machine is.
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "muster/actors/pipeline/fingerprint.hpp"
#include "muster/actors/pipeline/mix.hpp"
#include "muster/actors/pipeline/source.hpp"
#include "muster/cli/main.hpp"
#include "muster/gpu/random.hpp"

namespace {

constexpr std::int64_t kInputs = 64;
constexpr int kPaceMs = 1;  // of each sample

class PacedSource : public muster::IndexedSource {
 public:
  PacedSource(std::uint64_t samples, std::string gate) : samples_(samples), gate_(std::move(gate)) {}

  std::uint64_t size() const override { return samples_; }
  const std::vector<muster::Field>& fields() const override { return fields_; }
  void read(std::uint64_t index, muster::Row row) override {
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
  std::string gate_;
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
  return {samples, gate};
}

muster::Dataset make(const muster::Options& given) {
  const auto samples = static_cast<std::uint64_t>(muster::option<std::int64_t>(given, "samples"));
  return {std::make_unique<PacedSource>(samples, muster::option<std::string>(given, "gate")), nullptr};
}

}  // namespace

int main(int argc, char** argv) {
  muster::Registry registry = muster::builtin_registry();
  registry.add_source("paced", options(), make);
  return muster::main(argc, argv, registry);
}
