// The element-wise half of a GPU: sizes are checked here, kernels.cu does the rest.
#include "gpu/cuda/cuda_device.hpp"
#include "gpu/cuda/failure.hpp"
#include "gpu/gpu_guard.hpp"

namespace muster::cuda {

using elements::Scale;

void CudaDevice::add(std::span<const float> left, std::span<const float> right, Scale by,
                     std::span<float> out) {
  same(left.size(), out.size());
  same(right.size(), out.size());
  const GpuGuard here(number_, name_);
  launched(cuda::add(on(), left.data(), right.data(), out.size(), by, out.data()), "add");
}

void CudaDevice::scale(std::span<const float> values, Scale by, std::span<float> out) {
  same(values.size(), out.size());
  const GpuGuard here(number_, name_);
  launched(cuda::scale(on(), values.data(), out.size(), by, out.data()), "scale");
}

void CudaDevice::scale_by(std::span<const float> values, const float* factor, std::span<float> out) {
  same(values.size(), out.size());
  const GpuGuard here(number_, name_);
  launched(cuda::scale_by(on(), values.data(), out.size(), factor, out.data()), "scale_by");
}

void CudaDevice::sgd(SgdFrom factors, std::span<float> parameters, std::span<const float> gradient) {
  same(parameters.size(), gradient.size());
  const GpuGuard here(number_, name_);
  launched(cuda::sgd(on(), factors, parameters.size(), parameters.data(), gradient.data()), "sgd");
}

void CudaDevice::sgd_momentum(SgdFrom factors, bool nesterov, std::span<float> parameters,
                              std::span<const float> gradient, std::span<float> momentum) {
  same(parameters.size(), gradient.size());
  same(parameters.size(), momentum.size());
  const GpuGuard here(number_, name_);
  launched(cuda::sgd_momentum(on(), factors, nesterov, parameters.size(), parameters.data(), gradient.data(),
                              momentum.data()),
           "sgd_momentum");
}

void CudaDevice::foretell_sgd_momentum(SgdFrom factors, bool nesterov, std::span<float> parameters,
                                       std::span<const float> gradient, std::span<const float> momentum) {
  same(parameters.size(), gradient.size());
  same(parameters.size(), momentum.size());
  const GpuGuard here(number_, name_);
  launched(cuda::foretell_sgd_momentum(on(), factors, nesterov, parameters.size(), parameters.data(),
                                       gradient.data(), momentum.data()),
           "foretell_sgd_momentum");
}

void CudaDevice::adam(AdamFrom factors, std::span<float> parameters, std::span<const float> gradient,
                      std::span<float> average, std::span<float> square) {
  same(parameters.size(), gradient.size());
  same(parameters.size(), average.size());
  same(parameters.size(), square.size());
  const GpuGuard here(number_, name_);
  launched(cuda::adam(on(), factors, parameters.size(), parameters.data(), gradient.data(), average.data(),
                      square.data()),
           "adam");
}

void CudaDevice::foretell_adam(AdamFrom factors, std::span<float> parameters, std::span<const float> gradient,
                               std::span<const float> average, std::span<const float> square) {
  same(parameters.size(), gradient.size());
  same(parameters.size(), average.size());
  same(parameters.size(), square.size());
  const GpuGuard here(number_, name_);
  launched(cuda::foretell_adam(on(), factors, parameters.size(), parameters.data(), gradient.data(),
                               average.data(), square.data()),
           "foretell_adam");
}

void CudaDevice::squared_norm(std::span<const float> values, std::span<double> space) {
  same(space.size(), norm_space(values.size()));
  const GpuGuard here(number_, name_);
  launched(cuda::squared_norm(on(), values.data(), values.size(), space.data()), "squared_norm");
}

void CudaDevice::clip_factor(const double* squared_norm, float norm_max, float* factor) {
  const GpuGuard here(number_, name_);
  launched(cuda::clip_factor(on(), squared_norm, norm_max, factor), "clip_factor");
}

void CudaDevice::find_not_finite(std::span<const float> values, std::uint64_t* first) {
  const GpuGuard here(number_, name_);
  must(cudaMemsetAsync(first, 0xff, sizeof *first, streams_.work), name_, "cudaMemsetAsync");
  launched(cuda::find_not_finite(on(), values.data(), values.size(), first), "find_not_finite");
}

}  // namespace muster::cuda
