// What libmuster finds in this library.
#include "gpu/models/torch_back_end.hpp"

#include "gpu/models/builtin.hpp"
#include "gpu/models/gpt2.hpp"
#include "gpu/models/resnet.hpp"
#include "gpu/models/script.hpp"
#ifdef MUSTER_WITH_TORCH_CUDA
#include "gpu/torch/cuda_memory.hpp"
#endif

extern "C" const muster::TorchBackEnd* muster_torch_back_end() {
  using namespace muster;
  static const TorchBackEnd all = [] {
    TorchBackEnd made{make_mlp, make_fashion_cnn, make_resnet18, make_gpt2, make_script_model};
#ifdef MUSTER_WITH_TORCH_CUDA
    made.gpu_peak = torch_gpu_peak;
#endif
    return made;
  }();
  return &all;
}
