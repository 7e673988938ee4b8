// Sizes are checked here; kernels.cu and reductions.cu do the rest.
#include "gpu/cuda/cuda_vectors.hpp"

#include <utility>

#include "gpu/cuda/failure.hpp"
#include "gpu/gpu_guard.hpp"

namespace muster::cuda {
namespace {

using elements::Scale;

class CudaVectors final : public VectorOperations {
 public:
  CudaVectors(int number, std::string name, On on) : number_(number), name_(std::move(name)), on_(on) {}

  void add(std::span<const float> left, std::span<const float> right, Scale by,
           std::span<float> out) override {
    check_same_size(left.size(), out.size());
    check_same_size(right.size(), out.size());
    const GpuGuard here(number_, name_);
    launched(cuda::add(on_, left.data(), right.data(), out.size(), by, out.data()), name_, "add");
  }

  void scale(std::span<const float> values, Scale by, std::span<float> out) override {
    check_same_size(values.size(), out.size());
    const GpuGuard here(number_, name_);
    launched(cuda::scale(on_, values.data(), out.size(), by, out.data()), name_, "scale");
  }

  void scale_by(std::span<const float> values, const float* factor, std::span<float> out) override {
    check_same_size(values.size(), out.size());
    const GpuGuard here(number_, name_);
    launched(cuda::scale_by(on_, values.data(), out.size(), factor, out.data()), name_, "scale_by");
  }

  void sgd(SgdFrom factors, std::span<float> parameters, std::span<const float> gradient) override {
    check_same_size(parameters.size(), gradient.size());
    const GpuGuard here(number_, name_);
    launched(cuda::sgd(on_, factors, parameters.size(), parameters.data(), gradient.data()), name_, "sgd");
  }

  void sgd_momentum(SgdFrom factors, bool nesterov, std::span<float> parameters,
                    std::span<const float> gradient, std::span<float> momentum) override {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), momentum.size());
    const GpuGuard here(number_, name_);
    launched(cuda::sgd_momentum(on_, factors, nesterov, parameters.size(), parameters.data(), gradient.data(),
                                momentum.data()),
             name_, "sgd_momentum");
  }

  void foretell_sgd_momentum(SgdFrom factors, bool nesterov, std::span<float> parameters,
                             std::span<const float> gradient, std::span<const float> momentum) override {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), momentum.size());
    const GpuGuard here(number_, name_);
    launched(cuda::foretell_sgd_momentum(on_, factors, nesterov, parameters.size(), parameters.data(),
                                         gradient.data(), momentum.data()),
             name_, "foretell_sgd_momentum");
  }

  void adam(AdamFrom factors, std::span<float> parameters, std::span<const float> gradient,
            std::span<float> average, std::span<float> square) override {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), average.size());
    check_same_size(parameters.size(), square.size());
    const GpuGuard here(number_, name_);
    launched(cuda::adam(on_, factors, parameters.size(), parameters.data(), gradient.data(), average.data(),
                        square.data()),
             name_, "adam");
  }

  void foretell_adam(AdamFrom factors, std::span<float> parameters, std::span<const float> gradient,
                     std::span<const float> average, std::span<const float> square) override {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), average.size());
    check_same_size(parameters.size(), square.size());
    const GpuGuard here(number_, name_);
    launched(cuda::foretell_adam(on_, factors, parameters.size(), parameters.data(), gradient.data(),
                                 average.data(), square.data()),
             name_, "foretell_adam");
  }

  void squared_norm(std::span<const float> values, std::span<double> space) override {
    check_same_size(space.size(), norm_space(values.size()));
    const GpuGuard here(number_, name_);
    launched(cuda::squared_norm(on_, values.data(), values.size(), space.data()), name_, "squared_norm");
  }

  void clip_factor(const double* squared_norm, float norm_max, float* factor) override {
    const GpuGuard here(number_, name_);
    launched(cuda::clip_factor(on_, squared_norm, norm_max, factor), name_, "clip_factor");
  }

  void find_not_finite(std::span<const float> values, std::uint64_t* first) override {
    const GpuGuard here(number_, name_);
    must(cudaMemsetAsync(first, 0xff, sizeof *first, on_.stream), name_, "cudaMemsetAsync");
    launched(cuda::find_not_finite(on_, values.data(), values.size(), first), name_, "find_not_finite");
  }

 private:
  const int number_;
  const std::string name_;
  const On on_;
};

}  // namespace

std::unique_ptr<VectorOperations> make_cuda_vectors(int number, const std::string& name, On on) {
  return std::make_unique<CudaVectors>(number, name, on);
}

}  // namespace muster::cuda
