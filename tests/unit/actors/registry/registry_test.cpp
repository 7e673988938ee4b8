#include <gtest/gtest.h>

#include "muster/error.hpp"
#include "muster/registry.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::CountingSource;
using pipeline_test::job_error_key;

TEST(Registry, BuiltInNamesAreDeclared) {
  const Registry registry = builtin_registry();
  for (const char* name : {"linear", "empty"})
    EXPECT_TRUE(registry.declarations().models.contains(name)) << name;
  for (const char* name : {"idx", "synthetic", "tokens"})
    EXPECT_TRUE(registry.declarations().sources.contains(name)) << name;
#ifdef MUSTER_WITH_TORCH
  for (const char* name : {"mlp", "fashion_cnn", "resnet18", "gpt2"})
    EXPECT_TRUE(registry.declarations().models.contains(name)) << name;
#endif
}

TEST(Registry, EveryOptionHasAHelp) {
  const Registry registry = builtin_registry();
  for (const auto* kind : {&registry.declarations().models, &registry.declarations().sources}) {
    for (const auto& [name, options] : *kind) {
      for (const OptionSpec& option : options) EXPECT_FALSE(option.help.empty()) << name << '.' << option.key;
    }
  }
}

TEST(Registry, UnknownNamesAreTheJobsMistake) {
  const Registry registry = builtin_registry();
  EXPECT_EQ(job_error_key([&] { registry.make_model("none", {}, {}); }), "model.name");
  EXPECT_EQ(job_error_key([&] { registry.make_source("none", {}); }), "data.source");
}

TEST(Registry, OnesOwnSourceIsMadeAndAnEarlierOneReplaced) {
  Registry registry;
  const auto counting = [](std::uint64_t size) {
    return [size](const Options&) {
      Dataset data;
      data.train = std::make_unique<CountingSource>(size);
      return data;
    };
  };
  registry.add_source("mine", {}, counting(3)).add_source("mine", {}, counting(5));
  EXPECT_EQ(registry.make_source("mine", {}).train->indexed()->size(), 5u);
  EXPECT_TRUE(registry.declarations().sources.contains("mine"));
}

}  // namespace
}  // namespace muster
