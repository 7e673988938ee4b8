// The models that compute with libtorch, behind a library of its own (libmuster_torch, beside libmuster): a
// process loads libtorch when it makes such a model, and not before. It takes a third of a second of a core.
// No libtorch in this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

struct TorchBackEnd {
  using Make = std::unique_ptr<Model>(const Options&, const ModelContext&);
  using MakeScript = std::unique_ptr<Model>(const std::string& path, const std::string& sha256,
                                            const Options&, const ModelContext&);
  using GpuPeak = std::uint64_t(int gpu, const std::function<void()>& work);

  Make* mlp = nullptr;           ///< gpu/models/builtin.hpp
  Make* fashion_cnn = nullptr;   ///< the same
  Make* resnet18 = nullptr;      ///< gpu/models/resnet.hpp
  Make* gpt2 = nullptr;          ///< gpu/models/gpt2.hpp
  MakeScript* script = nullptr;  ///< gpu/models/script.hpp
  GpuPeak* gpu_peak = nullptr;   ///< gpu/torch/cuda_memory.hpp; null where libtorch has no CUDA
};

/// Loads it at the first call; any thread. Throws Error where it is not there or does not load.
const TorchBackEnd& torch_back_end();

}  // namespace muster
