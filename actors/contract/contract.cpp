#include "muster/actors/contract/contract.hpp"

#include <algorithm>

#include "muster/actors/contract/batch_rows.hpp"
#include "muster/actors/contract/model_check.hpp"
#include "muster/actors/contract/source_check.hpp"
#include "muster/config/error.hpp"

namespace muster {

std::string key_of(const ModelConfig& model) {
  return model.file ? "model.file" : model.library ? "model.library" : "model.name";
}

namespace {

// Null: there is none, or a generator would have to be opened for it.
std::shared_ptr<const Batch> first_batch(Workbench& bench, const ContractScope& scope) {
  if (!bench.reader->dealing() && !scope.opens_generators) return nullptr;
  const Item first = bench.reader->read(0, {});
  return first.ended || first.batch->rows == 0 ? nullptr : first.batch;
}

}  // namespace

ContractScope ContractScope::at_length() {
  ContractScope scope;
  scope.budget = std::chrono::milliseconds(60000);
  scope.positions = 1000;
  scope.rows_max = 16;
  scope.tensors_max = 16;
  scope.opens_generators = scope.computes_for_cards = true;
  return scope;
}

std::optional<Breach> check_sources(Workbench& bench, const ContractScope& scope, ContractLog& log) {
  for (const bool train : {true, false}) {
    Source* source = train ? bench.data->train.get() : bench.data->test.get();
    if (source == nullptr) continue;
    const SourceTrial trial{*source,
                            train ? "train" : "test",
                            scope.positions,
                            bench.job.train.shards,
                            scope.opens_generators,
                            bench.job.seed,
                            [&](const Batch& batch) { bench.model->check_batch(batch); }};
    if (auto breach = check_source(trial, log)) return breach;
  }
  return std::nullopt;
}

std::optional<Breach> check_model(Workbench& bench, const ContractScope& scope, ContractLog& log) {
  const auto batch = first_batch(bench, scope);
  if (!batch) {
    log.leave_out("the model's contract",
                  "no samples are read from generators before the run; `muster check` reads them");
    return std::nullopt;
  }
  const Batch samples = rows_of(*batch, 0, std::min(batch->rows, scope.rows_max));
  const ModelTrial trial{*bench.model,
                         bench.state.span(),
                         samples,
                         key_of(bench.job.model),
                         bench.job.seed,
                         bench.job.train.precision == Precision::bfloat16,
                         bench.job.train.remainder == Remainder::pad,
                         bench.job.train.not_finite == OnNotFinite::stop};
  try {
    if (auto breach = check_model(trial, log)) return breach;
    if (scope.tensors_max == 0) return std::nullopt;
    return check_gradient_by_differences(trial, scope.tensors_max, log);
  } catch (const JobError&) {
    throw;
  } catch (const std::exception& error) {
    return Breach{trial.key, "a model computes what the source gives", error.what(), ""};
  }
}

}  // namespace muster
