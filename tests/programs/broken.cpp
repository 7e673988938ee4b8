// An embedding program whose model and source break the promise that the job names: "" for none.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "muster/command_line.hpp"
#include "tests/support/broken_parts.hpp"

namespace {

using muster::Options;
using muster::OptionSpec;
using muster::OptionType;

OptionSpec flaw() {
  return {"flaw", OptionType::text, "which promise is broken", muster::Option{std::string()}, {}, {}, {}};
}

OptionSpec count(const char* key, std::int64_t value, double least = 1) {
  return {key, OptionType::integer, "how many", muster::Option{value}, least, 1e6, {}};
}

std::size_t count_of(const Options& options, const char* key) {
  return static_cast<std::size_t>(muster::option<std::int64_t>(options, key));
}

}  // namespace

int main(int argc, char** argv) {
  const char* given = std::getenv("MUSTER_BROKEN");
  const std::string how = given ? given : "";
  if (how == "ignores-children") std::signal(SIGCHLD, SIG_IGN);
  if (how == "stands" && argc > 1 && std::string(argv[1]) == "node") ::pause();
  if (how == "own-arguments" && argc > 1 && std::string(argv[1]) == "node")
    return 5;  // no such file, it says
  muster::Registry registry = muster::builtin_registry();
  registry.add_model("regression", {flaw(), count("inputs", 2)}, [](const Options& options, const auto&) {
    return std::make_unique<muster::broken::Regression>(muster::option<std::string>(options, "flaw"),
                                                        count_of(options, "inputs"));
  });
  const std::vector<OptionSpec> sums{flaw(), count("samples", 200), count("test_samples", 0, 0)};
  registry.add_source("sums", sums, [](const Options& options) {
    const auto of_size = [&](std::size_t samples) {
      return std::make_unique<muster::broken::Sums>(muster::option<std::string>(options, "flaw"), samples);
    };
    const std::size_t test_samples = count_of(options, "test_samples");
    return muster::Dataset{of_size(count_of(options, "samples")),
                           test_samples > 0 ? of_size(test_samples) : nullptr};
  });
  return muster::main(argc, argv, registry);
}
