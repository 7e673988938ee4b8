// Small sources for the pipeline's tests.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/error.hpp"
#include "muster/source.hpp"

namespace muster::pipeline_test {

/// Puts one number into the first field of a row.
inline void put(Row row, std::int64_t value) {
  std::memcpy(row[0].data(), &value, sizeof value);
}

/// Sample i is the number i.
class CountingSource : public IndexedSource {
 public:
  explicit CountingSource(std::uint64_t size) : size_(size) {}
  std::string fingerprint() const override { return "counting"; }
  std::uint64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::uint64_t index, Row row) override { put(row, static_cast<std::int64_t>(index)); }

 private:
  std::uint64_t size_;
  std::vector<Field> fields_{{DType::int64, {}}};
};

/// Shard s of epoch e yields lengths[s] samples: 1,000,000 e + 1,000 s + i. Counts what is asked of it.
class CountingGenerators : public GeneratorSource {
 public:
  explicit CountingGenerators(std::vector<int> lengths) : lengths_(std::move(lengths)) {}
  std::string fingerprint() const override { return "generators"; }
  const std::vector<Field>& fields() const override { return fields_; }
  std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t, std::uint64_t epoch) override {
    ++opened;
    return std::make_unique<One>(*this, static_cast<int>(1'000'000 * epoch + 1'000 * shard),
                                 lengths_.at(shard));
  }

  int opened = 0;
  int fail_after = -1;  ///< this many samples from now, one read throws

 private:
  struct One : Generator {
    One(CountingGenerators& owner_in, int base_in, int length_in)
        : owner(owner_in), base(base_in), length(length_in) {}
    bool next(Row row) override {
      if (owner.fail_after >= 0 && owner.fail_after-- == 0) throw Error("the disk is slow today");
      if (at == length) return false;
      put(row, base + at++);
      return true;
    }
    CountingGenerators& owner;
    int base;
    int length;
    int at = 0;
  };

  std::vector<int> lengths_;
  std::vector<Field> fields_{{DType::int64, {}}};
};

inline std::vector<std::int64_t> numbers(const Batch& batch) {
  const auto values = batch.tensors.at(0).as<std::int64_t>();
  return {values.begin(), values.end()};
}

/// A ready-made batch of one int64 tensor.
inline Batch ready(const std::vector<std::int64_t>& values) {
  Batch batch;
  batch.rows = static_cast<std::uint32_t>(values.size());
  const auto bytes = std::as_bytes(std::span(values));
  batch.tensors.push_back(
      {DType::int64, {static_cast<std::int64_t>(values.size())}, {bytes.begin(), bytes.end()}});
  return batch;
}

/// The key of the JobError that a call throws; empty: it threw none.
template <class Call>
std::string job_error_key(Call&& call) {
  try {
    call();
  } catch (const JobError& error) {
    return error.key();
  }
  return {};
}

/// The message of the Error that a call throws; empty: it threw none.
template <class Call>
std::string error_message(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace muster::pipeline_test
