#include "actors/contract/contract.hpp"

#include <algorithm>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/model_check.hpp"
#include "actors/contract/source_check.hpp"
#include "muster/error.hpp"

namespace muster {

std::string key_of(const ModelConfig& model) {
  return model.file ? "model.file" : model.library ? "model.library" : "model.name";
}

namespace {

// Null: there is none, or a generator would have to be opened for it.
std::shared_ptr<const Batch> first_batch(TrainerState& trainer, const ContractScope& scope) {
  if (!trainer.data.reader().dealing() && !scope.opens_generators) return nullptr;
  const Item first = trainer.data.reader().read(0, {});
  return first.ended || first.batch->rows == 0 ? nullptr : first.batch;
}

const std::string kComputes = "a model computes what the source gives";

std::optional<Breach> try_model(const ModelTrial& trial, const ContractScope& scope, ContractLog& log) {
  try {
    if (auto breach = check_model(trial, log)) return breach;
    if (scope.tensors_max == 0) return std::nullopt;
    return check_gradient_by_differences(trial, scope.tensors_max, log);
  } catch (const JobError&) {
    throw;
  } catch (const std::exception& error) {
    return Breach{trial.key, kComputes, error.what(), ""};
  }
}

// By the name that models give it.
std::string inputs_of(const ModelConfig& model) {
  const auto found = model.options.find("inputs");
  const auto* const inputs =
      found == model.options.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return inputs ? "model.inputs = " + std::to_string(*inputs) : "";
}

// 1, where it is not known.
std::uint64_t steps_of(TrainerState& trainer) {
  const std::uint64_t epochs = trainer.job.train.epochs.value_or(1);
  return trainer.job.train.steps.value_or(epochs * trainer.data.reader().steps_per_epoch().value_or(1));
}

// Null: the job evaluates nothing, or its test source is a generator.
std::shared_ptr<const Batch> test_batch(TrainerState& trainer, const ContractScope& scope) {
  const auto dealing = trainer.data.reader().dealing(Mode::evaluate);
  if (!trainer.job.train.evaluate || !trainer.data.reader().evaluates() ||
      (!dealing && !scope.opens_generators))
    return nullptr;
  Cursor cursor;
  cursor.mode = Mode::evaluate;
  const Item first = trainer.data.reader().read(0, cursor);
  return first.ended || first.batch->rows == 0 ? nullptr : first.batch;
}

}  // namespace

ContractScope ContractScope::at_length() {
  ContractScope scope;
  scope.budget = std::chrono::milliseconds(60000);
  scope.positions = 1000;
  scope.rows_max = 16;
  scope.tensors_max = 16;
  scope.opens_generators = scope.computes_for_gpus = true;
  return scope;
}

std::optional<Breach> check_sources(TrainerState& trainer, const ContractScope& scope, ContractLog& log) {
  for (const bool train : {true, false}) {
    Source* source = train ? trainer.data.sources().train.get() : trainer.data.sources().test.get();
    if (source == nullptr || (!train && !trainer.job.train.evaluate)) continue;
    const SourceTrial trial{*source,
                            train ? "train" : "test",
                            scope.positions,
                            trainer.job.train.shards,
                            scope.opens_generators,
                            trainer.job.seed,
                            [&](const Batch& batch) { trainer.model->check_batch(batch); }};
    if (auto breach = check_source(trial, log)) return breach;
  }
  return std::nullopt;
}

std::optional<Breach> check_model(TrainerState& trainer, const ContractScope& scope, ContractLog& log) {
  const auto batch = first_batch(trainer, scope);
  if (!batch) {
    log.leave_out("the model's contract",
                  "no samples are read from generators before the run; `muster check` reads them");
    return std::nullopt;
  }
  const bool ready_made = trainer.data.sources().train->batches() != nullptr;
  const Batch samples = ready_made ? *batch : rows_of(*batch, 0, std::min(batch->rows, scope.rows_max));
  const auto test = test_batch(trainer, scope);
  const Batch evaluated = test ? rows_of(*test, 0, std::min(test->rows, scope.rows_max)) : Batch{};
  const ModelTrial trial{*trainer.model,
                         trainer.state.span(),
                         samples,
                         key_of(trainer.job.model),
                         trainer.job.seed,
                         trainer.job.train.precision == Precision::bfloat16,
                         trainer.job.train.remainder == Remainder::pad,
                         trainer.job.train.not_finite == OnNotFinite::stop,
                         !ready_made,
                         steps_of(trainer),
                         test ? &evaluated : nullptr,
                         !trainer.job.checkpoint.start_from.empty(),
                         inputs_of(trainer.job.model)};
  const auto breach = try_model(trial, scope, log);
  if (!breach || breach->check != kComputes || samples.rows == batch->rows) return breach;
  // It may be for batches of the job's size alone.
  return try_model({trial.model, trial.state, *batch, trial.key, trial.seed, trial.bfloat16, trial.pads,
                    trial.needs_finite, false, trial.steps, test.get(), trial.given_state, trial.inputs},
                   scope, log);
}

}  // namespace muster
