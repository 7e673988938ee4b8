#include "actors/contract/source_check.hpp"

#include <cstring>
#include <set>

#include "actors/contract/guarded_row.hpp"
#include "actors/pipeline/batch_check.hpp"
#include "muster/error.hpp"
#include "muster/random.hpp"

namespace muster {

namespace {

const std::string kFields = "a source says its size and its fields";
const std::string kReads = "each sample can be read, with the same bytes each time";
const std::string kBatches = "each ready-made batch can be read, with the same bytes each time";
const std::string kGenerators = "a generator gives the same samples each time it is opened";
const std::string kFingerprint = "the fingerprint is there, and stays";
constexpr int kGenerated = 64;  // samples of a generator that are read

std::string what_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

class SourceCheck {
 public:
  SourceCheck(const SourceTrial& trial, ContractLog& log) : trial_(trial), log_(log) {}

  std::optional<Breach> run() {
    if (auto breach = read_some()) return breach;
    return fingerprint();
  }

 private:
  Breach broken(const std::string& check, const std::string& found, const std::string& likely = {}) const {
    return {"data.source", check, std::string(trial_.which) + " source: " + found, likely};
  }

  // Nothing, or why the call fails.
  template <class Call>
  std::string failure_of(Call&& call) const {
    try {
      call();
      return {};
    } catch (...) {
      return what_of(std::current_exception());
    }
  }

  std::optional<Breach> read_some() {
    if (IndexedSource* source = trial_.source.indexed()) return indexed(*source);
    if (BatchSource* source = trial_.source.batches()) return batches(*source);
    if (GeneratorSource* source = trial_.source.generators()) return generators(*source);
    return broken(kFields, "it is no IndexedSource, BatchSource or GeneratorSource",
                  "derive it from one of them");
  }

  // The first, the last, the first again, and some at random.
  std::vector<std::uint64_t> positions(std::uint64_t size) const {
    std::vector<std::uint64_t> all{0, size - 1, 0};
    SplitMix64 random(trial_.seed);
    for (std::uint64_t i = 0; i < trial_.positions; ++i) all.push_back(random.next() % size);
    return all;
  }

  std::optional<Breach> mistake_in_fields(const std::vector<Field>& fields) const {
    if (fields.empty())
      return broken(kFields, "it declares no fields",
                    "fields() names type and shape of each part of a sample");
    for (std::size_t k = 0; k < fields.size(); ++k) {
      std::uint64_t bytes = 0;
      if (!tensor_bytes(fields[k].dtype, fields[k].shape, bytes))
        return broken(kFields, "field " + std::to_string(k) + " has an impossible shape");
    }
    return std::nullopt;
  }

  std::optional<Breach> indexed(IndexedSource& source) {
    if (!log_.begin(kFields)) return std::nullopt;
    const std::uint64_t size = source.size();
    if (auto breach = mistake_in_fields(source.fields())) return breach;
    if (size == 0 || !log_.begin(kReads)) return std::nullopt;
    for (const std::uint64_t index : positions(size)) {
      if (log_.time_is_over()) break;
      if (auto breach = one_sample(source, index, size)) return breach;
    }
    if (source.size() == size) return std::nullopt;
    return broken(kFields, "size() was " + std::to_string(size) + ", and is " +
                               std::to_string(source.size()) + " after some reads");
  }

  std::optional<Breach> one_sample(IndexedSource& source, std::uint64_t index, std::uint64_t size) {
    const std::string call = "read(" + std::to_string(index) + ") of " + std::to_string(size);
    GuardedRow one(source.fields(), std::byte{0xa5}), two(source.fields(), std::byte{0x5a});
    for (GuardedRow* row : {&one, &two}) {
      const std::string why = failure_of([&] { source.read(index, row->row()); });
      if (!why.empty())
        return broken(kReads, call + " fails: " + why,
                      "every index below size() must be readable: does size() count what is there?");
    }
    if (auto breach = compare_rows(call, one, two, source.fields())) return breach;
    return look(call, one.as_batch());
  }

  std::optional<Breach> compare_rows(const std::string& call, const GuardedRow& one, const GuardedRow& two,
                                     const std::vector<Field>& fields) const {
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const std::string field =
          " field " + std::to_string(k) + " (" + std::to_string(fields[k].bytes()) + " bytes)";
      if (!one.margins_are_whole(k) || !two.margins_are_whole(k))
        return broken(kReads, call + " writes beyond" + field,
                      "row[k] has exactly fields()[k].bytes() bytes");
      const auto a = one.field(k), b = two.field(k);
      std::size_t unwritten = 0, first = 0, differs = a.size();
      for (std::size_t i = a.size(); i-- > 0;) {
        if (a[i] == one.pattern() && b[i] == two.pattern()) {
          ++unwritten;
          first = i;
        } else if (a[i] != b[i]) {
          differs = i;
        }
      }
      if (unwritten > 0)
        return broken(
            kReads,
            call + " leaves " + std::to_string(unwritten) + " bytes of" + field +
                " as they were, from byte " + std::to_string(first),
            "write every byte of every declared field: are there more columns declared than written?");
      if (differs < a.size())
        return broken(
            kReads,
            call + " gives other bytes the second time, from byte " + std::to_string(differs) + " of" + field,
            "a sample depends on its index alone: draw random numbers from the index, keep no state");
    }
    return std::nullopt;
  }

  // What the model says of it.
  std::optional<Breach> look(const std::string& call, const Batch& batch) const {
    if (!trial_.look) return std::nullopt;
    try {
      trial_.look(batch);
      return std::nullopt;
    } catch (const JobError& error) {  // it knows which key is wrong
      throw JobError(error.key(), std::string(error.what()) + " (" + trial_.which + " source, " + call + ")");
    } catch (...) {
      return broken("the samples fit the model", call + ": " + what_of(std::current_exception()),
                    "compare the source's fields and labels with the model's options");
    }
  }

  std::optional<Breach> batches(BatchSource& source) {
    if (!log_.begin(kBatches)) return std::nullopt;
    const std::uint64_t size = source.size();
    if (size == 0) return std::nullopt;
    for (const std::uint64_t index : positions(size)) {
      if (log_.time_is_over()) break;
      const std::string call = "batch(" + std::to_string(index) + ") of " + std::to_string(size);
      Batch one, two;
      const std::string why = failure_of([&] {
        one = source.batch(index);
        two = source.batch(index);
      });
      if (!why.empty())
        return broken(kBatches, call + " fails: " + why, "every index below size() must be readable");
      if (const std::string mistake = batch_mistake(one); !mistake.empty())
        return broken(kBatches, call + ": " + mistake);
      if (!same(one, two))
        return broken(kBatches, call + " gives another batch the second time",
                      "a batch depends on its index alone");
      if (auto breach = look(call, one)) return breach;
    }
    return std::nullopt;
  }

  static bool same(const Batch& one, const Batch& two) {
    return one.rows == two.rows && one.padding == two.padding &&
           std::ranges::equal(one.tensors, two.tensors, [](const Tensor& a, const Tensor& b) {
             return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
           });
  }

  std::optional<Breach> generators(GeneratorSource& source) {
    if (!log_.begin(kFields)) return std::nullopt;
    if (auto breach = mistake_in_fields(source.fields())) return breach;
    if (!trial_.opens_generators) {
      log_.leave_out(kGenerators, "generators are not opened before the run; `muster check` opens them");
      return std::nullopt;
    }
    for (std::uint32_t shard = 0; shard < trial_.shards && !log_.time_is_over(); ++shard) {
      if (auto breach = one_generator(source, shard)) return breach;
    }
    return std::nullopt;
  }

  std::optional<Breach> one_generator(GeneratorSource& source, std::uint32_t shard) {
    if (!log_.begin(kGenerators)) return std::nullopt;
    std::unique_ptr<Generator> first, second;
    std::string call = "open(" + std::to_string(shard) + ", " + std::to_string(trial_.shards) + ", 1)";
    std::string why = failure_of([&] {
      first = source.open(shard, trial_.shards, 1);
      second = source.open(shard, trial_.shards, 1);
    });
    if (!why.empty()) return broken(kGenerators, call + " fails: " + why);
    if (!first || !second) return broken(kGenerators, call + " gives no generator");
    for (int i = 0; i < kGenerated && !log_.time_is_over(); ++i) {
      GuardedRow one(source.fields(), std::byte{0xa5}), two(source.fields(), std::byte{0x5a});
      bool there = false, there_too = false;
      why = failure_of([&] {
        there = first->next(one.row());
        there_too = second->next(two.row());
      });
      const std::string sample = "sample " + std::to_string(i) + " of " + call;
      if (!why.empty()) return broken(kGenerators, sample + " fails: " + why);
      if (there != there_too)
        return broken(kGenerators,
                      call + " ends at sample " + std::to_string(i) + " once, and later the other time");
      if (!there) return std::nullopt;
      if (auto breach = compare_rows(sample, one, two, source.fields())) return breach;
      if (auto breach = look(sample, one.as_batch())) return breach;
    }
    return std::nullopt;
  }

  std::optional<Breach> fingerprint() {
    if (!log_.begin(kFingerprint)) return std::nullopt;
    std::string one, two;
    const std::string why = failure_of([&] { one = trial_.source.fingerprint(); });
    if (!why.empty()) return broken(kFingerprint, "fingerprint() fails: " + why);
    if (one.empty())
      return broken(kFingerprint, "fingerprint() is empty",
                    "give a hash of what the samples are made from (muster/fingerprint.hpp)");
    if (log_.time_is_over()) return std::nullopt;  // it may read all there is
    two = trial_.source.fingerprint();
    if (one == two) return std::nullopt;
    return broken(kFingerprint, "fingerprint() is '" + one + "', and then '" + two + "'",
                  "it may depend on the content alone, not on time, order or addresses");
  }

  const SourceTrial& trial_;
  ContractLog& log_;
};

}  // namespace

std::optional<Breach> check_source(const SourceTrial& trial, ContractLog& log) {
  return SourceCheck(trial, log).run();
}

}  // namespace muster
