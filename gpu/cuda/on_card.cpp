#include "gpu/on_card.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "gpu/cuda/failure.hpp"

namespace muster::cuda {
namespace {

using PrimaryContextState = CUresult(CUDAAPI*)(CUdevice card, unsigned* flags, int* active);

// The runtime cannot say it. The driver can, which is not linked: it is not there on machines without a card.
PrimaryContextState primary_context_state() noexcept {
  constexpr const char* kName = "cuDevicePrimaryCtxGetState";
  void* function = nullptr;
#if CUDART_VERSION >= 12050
  constexpr unsigned kSince = 7000;  // CUDA 7.0
  const cudaError_t code = cudaGetDriverEntryPointByVersion(kName, &function, kSince, cudaEnableDefault);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(kName, &function, cudaEnableDefault);
#endif
  if (code == cudaSuccess) return reinterpret_cast<PrimaryContextState>(function);
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

bool has_context(int card) noexcept {
  static const PrimaryContextState state_of = primary_context_state();
  unsigned flags = 0;
  int active = 0;
  return state_of != nullptr && state_of(card, &flags, &active) == CUDA_SUCCESS && active != 0;
}

}  // namespace

void go_back_to(int card) noexcept {
  if (has_context(card)) static_cast<void>(cudaSetDevice(card));
}

int card_of_thread() noexcept {
  int card = -1;
  if (cudaGetDevice(&card) == cudaSuccess) return card;
  static_cast<void>(cudaGetLastError());
  return -1;
}

// Before CUDA 12 the card alone made no context.
void use(int card) {
  const std::string name = "cuda:" + std::to_string(card);
  must(cudaSetDevice(card), name, "cudaSetDevice");
  must(cudaFree(nullptr), name, "cudaFree");
}

OnCard::OnCard(int number, const std::string& card) {
  must(cudaGetDevice(&before_), card, "cudaGetDevice");
  if (before_ == number) return;
  must(cudaSetDevice(number), card, "cudaSetDevice");
  changed_ = true;
}

}  // namespace muster::cuda
