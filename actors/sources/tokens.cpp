#include "actors/sources/tokens.hpp"

#include <algorithm>
#include <cstring>

#include "actors/sources/token_file.hpp"
#include "muster/error.hpp"
#include "muster/fingerprint.hpp"

namespace muster {
namespace {

constexpr std::int64_t kNoToken = -1;
constexpr std::int64_t kContextMax = std::int64_t{1} << 20;
constexpr std::int64_t kVocabularyMax = std::int64_t{1} << 32;

class TokenSource : public IndexedSource {
 public:
  TokenSource(std::unique_ptr<TokenFile> file, std::uint64_t context)
      : file_(std::move(file)),
        context_(context),
        fields_{{DType::int64, {static_cast<std::int64_t>(context) + 1}}},
        window_(context + 1) {}

  std::uint64_t size() const override { return (file_->size() - 1 + context_ - 1) / context_; }

  const std::vector<Field>& fields() const override { return fields_; }

  void read(std::uint64_t index, Row row) override {
    const std::uint64_t begin = index * context_;
    const auto there = static_cast<std::size_t>(std::min(context_ + 1, file_->size() - begin));
    file_->read(begin, std::span(window_).first(there));
    std::fill(window_.begin() + static_cast<std::ptrdiff_t>(there), window_.end(), kNoToken);
    std::memcpy(row[0].data(), window_.data(), row[0].size());
  }

  std::uint64_t resident_bytes() const override { return window_.capacity() * sizeof(std::int64_t); }

  std::string fingerprint() const override {
    Fingerprint print;
    print.add("tokens");
    print.add(context_);
    print.add(file_->size());
    print.add(file_->sha256());
    return print.hex();
  }

 private:
  std::unique_ptr<TokenFile> file_;
  std::uint64_t context_;
  std::vector<Field> fields_;
  std::vector<std::int64_t> window_;  // the one being read
};

std::uint64_t between(const Options& options, const std::string& key, std::int64_t least, std::int64_t most) {
  const auto value = option<std::int64_t>(options, key);
  if (value < least || value > most)
    throw JobError("data." + key, std::to_string(value) + " is out of range; allowed: " +
                                      std::to_string(least) + " to " + std::to_string(most));
  return static_cast<std::uint64_t>(value);
}

std::uint32_t token_bytes(const std::string& type) {
  if (type == "uint8") return 1;
  if (type == "uint16") return 2;
  if (type == "uint32") return 4;
  throw JobError("data.type", "\"" + type + "\" is no type of tokens; allowed: uint8, uint16 or uint32");
}

}  // namespace

std::vector<OptionSpec> tokens_options() {
  OptionSpec type{
      "type",
      OptionType::text,
      "type of a token in the files: unsigned, little-endian, without separators; read a text file as "
      "`uint8` with a `vocabulary` of 256",
      Option{std::string("uint16")},
      {},
      {},
      {"uint8", "uint16", "uint32"}};
  const auto file = [](const char* key, const char* help) {
    return OptionSpec{key, OptionType::path, help, {}, {}, {}, {}};
  };
  const auto integer = [](const char* key, const char* help, std::int64_t value, std::int64_t least,
                          std::int64_t most) {
    return OptionSpec{
        key, OptionType::integer, help, Option{value}, static_cast<double>(least), static_cast<double>(most),
        {}};
  };
  OptionSpec test = file("test", "token file of the test set; without it the model is not evaluated");
  test.default_value.emplace(std::string());
  return {file("train", "token file of the training set"), test, type,
          integer("vocabulary", "number of different tokens; each token in the files must be below it", 50257,
                  1, kVocabularyMax),
          integer("context",
                  "tokens that a sample predicts, each from those before it in the sample; at most the "
                  "context of the model",
                  1024, 1, kContextMax)};
}

Dataset make_tokens(const Options& options) {
  const std::uint32_t bytes = token_bytes(option<std::string>(options, "type"));
  const std::uint64_t vocabulary = between(options, "vocabulary", 1, kVocabularyMax);
  const std::uint64_t context = between(options, "context", 1, kContextMax);
  const auto open = [&](const char* key) {
    return std::make_unique<TokenSource>(std::make_unique<TokenFile>(option<std::string>(options, key), bytes,
                                                                     vocabulary, std::string("data.") + key),
                                         context);
  };
  Dataset data;
  data.train = open("train");
  if (!option<std::string>(options, "test").empty()) data.test = open("test");
  return data;
}

}  // namespace muster
