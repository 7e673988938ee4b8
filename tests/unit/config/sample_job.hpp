// What the tests of the job file share: a model and a source to declare, a file that exists, and a valid job.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "muster/job_file.hpp"

namespace muster::sample {

/// A small file that exists as long as the object.
class DataFile {
 public:
  DataFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-config-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(path()) << "data";
  }
  ~DataFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  std::string folder() const { return folder_; }
  std::string path() const { return folder_ + "/train-images"; }

 private:
  std::string folder_;
};

inline OptionSpec option_spec(std::string key, OptionType type, std::optional<Option> value,
                              std::optional<double> least = {}, std::optional<double> most = {}) {
  return {std::move(key), type, "Serves the tests.", std::move(value), least, most, {}};
}

inline Declarations declarations() {
  OptionSpec activation = option_spec("activation", OptionType::text, Option(std::string("relu")));
  activation.allowed = {"relu", "tanh"};
  Declarations result;
  result.models["fashion_cnn"] = {};
  result.models["mlp"] = {
      option_spec("hidden", OptionType::integers, Option(std::vector<std::int64_t>{128, 64}), 1),
      option_spec("dropout", OptionType::number, Option(0.0), 0, 0.9),
      option_spec("bias", OptionType::boolean, Option(true)),
      option_spec("layers", OptionType::integer, Option(std::int64_t{2}), 1, 8),
      activation,
  };
  result.sources["idx"] = {
      option_spec("train_images", OptionType::path, std::nullopt),
      option_spec("test_images", OptionType::path, Option(std::string())),
  };
  return result;
}

/// The text of a valid job; line numbers are part of the tests.
inline std::string job_text(const DataFile& file) {
  return "name = \"sample\"\n"   // 1
         "seed = 7\n"            // 2
         "[model]\n"             // 3
         "name = \"mlp\"\n"      // 4
         "hidden = [100, 10]\n"  // 5
         "[data]\n"              // 6
         "source = \"idx\"\n"    // 7
         "train_images = \"" +
         file.path() +
         "\"\n"                      // 8
         "shuffle = true\n"          // 9
         "memory = \"64MiB\"\n"      // 10
         "[train]\n"                 // 11
         "shards = 8\n"              // 12
         "  batch = 16\n"            // 13
         "epochs = 2\n"              // 14
         "remainder = \"keep\"\n"    // 15
         "[train.optimizer]\n"       // 16
         "name = \"sgd\"\n"          // 17
         "learning_rate = 0.05\n"    // 18
         "[cluster]\n"               // 19
         "replicas = 2\n"            // 20
         "listen = \"127.0.0.1\"\n"  // 21
         "[cluster.detect]\n"        // 22
         "heartbeat = \"100ms\"\n"   // 23
         "patience = \"10s\"\n";     // 24
}

/// The text with the first `from` replaced; it must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace muster::sample
