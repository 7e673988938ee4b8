// Errors of one process, or of one micro-batch wherever it is tried: a model that throws, or does not return,
// a source that cannot be read, a loss that is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "muster/registry.hpp"

namespace muster::simulation {

/// Its error's text.
inline constexpr const char* kPlantedError = "a planted error";

enum class Planted { nothing, in_model, in_source, hangs };

/// Thrown by a call that does not return: the thread that made it does nothing more. Nothing in the product
/// catches it.
struct DoesNotReturn {
  StepKey key;
};

/// Of a generator: the shard and the epoch that it is opened for, and which of its samples. Else one of the
/// source, or one of its ready-made batches: shard and epoch are 0.
struct SampleName {
  std::uint32_t shard = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  bool operator==(const SampleName&) const = default;
};

/// At one micro-batch, in every process that tries it: the next one, from when it is planted on.
struct CursedBatch {
  Planted planted = Planted::nothing;
  std::optional<StepKey> key;        ///< of the gradient, once it has been tried
  std::optional<SampleName> sample;  ///< that cannot be read, likewise
};

/// A micro-batch whose loss is NaN, whoever computes it: of a step that nobody has tried before it
/// is planted, so that all who compare it find the same.
struct SpoiledBatch {
  bool planted = false;
  std::optional<StepKey> key;
  std::uint64_t newest = 0;  ///< the latest step that was tried
};

struct PlantedErrors {
  Planted next = Planted::nothing;  ///< the process's next gradient, or next sample
  std::shared_ptr<CursedBatch> cursed;
  std::shared_ptr<SpoiledBatch> spoiled;
  bool thrown = false;   ///< one of these errors has been met
  bool hangs = false;    ///< a call that does not return was made
  bool no_data = false;  ///< its data cannot be opened
  bool unlike = false;   ///< its weights begin an ulp beside those of the others
};

/// The registry with model linear and all sources as ever, but for these errors.
Registry with_errors(std::shared_ptr<const Registry> registry, const std::shared_ptr<PlantedErrors>& errors);

}  // namespace muster::simulation
