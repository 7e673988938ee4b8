// The operations on vectors with the host's processor: the twins of gpu/cuda/kernels.cu. Plain loops in
// float32, written so that the compiler can vectorize them. Every element is computed alone and without
// contraction, so the bits depend neither on the vector width nor on where the vector is cut.
#include "gpu/vector_operations.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "gpu/norm.hpp"

// A loop whose output may be one of its inputs: element i depends on nothing but the elements i.
#if defined(__GNUC__) && !defined(__clang__)
#define MUSTER_EACH_ALONE _Pragma("GCC ivdep")
#else
#define MUSTER_EACH_ALONE
#endif

namespace muster {

void check_same_size(std::size_t one, std::size_t other) {
  MUSTER_CHECK(one == other, "sizes", one, "and", other);
}

std::size_t norm_space(std::size_t count) {
  std::size_t space = 1;
  for (count = norm::blocks(count); count > 1; count = norm::blocks(count)) space += count;
  return space;
}

namespace {

using elements::AdamFactors;
using elements::From;
using elements::Scale;
using elements::SgdFactors;

// out[i] = sum(i), scaled.
template <bool divides, class Sum>
void scaled_loop(std::size_t count, float factor, float* out, const Sum& sum) {
  MUSTER_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i) out[i] = elements::scaled(sum(i), factor, divides);
}

// No choice is left within the loop.
template <class Sum>
void scaled_loop(Scale by, std::span<float> out, const Sum& sum) {
  if (by.divides) return scaled_loop<true>(out.size(), by.factor, out.data(), sum);
  scaled_loop<false>(out.size(), by.factor, out.data(), sum);
}

// Value: float, or const float for one that keeps nothing.
template <bool nesterov, class Value>
void sgd_loop(const SgdFactors& factors, std::span<float> values, std::span<const float> grads,
              Value* __restrict momentum) {
  float* __restrict parameters = values.data();
  const float* __restrict gradient = grads.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float parameter = parameters[i], velocity = momentum[i];
    elements::sgd_momentum<nesterov>(parameter, velocity, gradient[i], factors);
    if constexpr (!std::is_const_v<Value>) momentum[i] = velocity;
    parameters[i] = parameter;
  }
}

template <class Value>
void adam_loop(const AdamFactors& given, std::span<float> values, std::span<const float> grads,
               Value* __restrict average, Value* __restrict square) {
  const AdamFactors factors = given;
  float* __restrict parameters = values.data();
  const float* __restrict gradient = grads.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_const_v<Value>) {
      float mean = average[i], variance = square[i];
      elements::adam(parameters[i], mean, variance, gradient[i], factors);
    } else {
      elements::adam(parameters[i], average[i], square[i], gradient[i], factors);
    }
  }
}

template <class Value, class Term>
double sum_of_block(const Value* values, std::size_t count, const Term& term) {
  double lanes[norm::kLanes] = {};
  std::size_t i = 0;
  for (; i + norm::kLanes <= count; i += norm::kLanes)
    for (std::size_t l = 0; l < norm::kLanes; ++l) lanes[l] += term(values[i + l]);
  for (std::size_t l = 0; i + l < count; ++l) lanes[l] += term(values[i + l]);
  for (std::size_t half = norm::kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// `sums` may be `values`: a block is read before its sum is written, and no sum lies behind its block.
template <class Value, class Term>
void sum_blocks(const Value* values, std::size_t count, double* sums, const Term& term) {
  for (std::size_t b = 0; b < norm::blocks(count); ++b) {
    const std::size_t begin = b * norm::kBlock;
    sums[b] = sum_of_block(values + begin, std::min(norm::kBlock, count - begin), term);
  }
}

class HostVectors final : public VectorOperations {
 public:
  void add(std::span<const float> left, std::span<const float> right, Scale by,
           std::span<float> out) override {
    check_same_size(left.size(), out.size());
    check_same_size(right.size(), out.size());
    const float *a = left.data(), *b = right.data();
    scaled_loop(by, out, [=](std::size_t i) { return a[i] + b[i]; });
  }

  void scale(std::span<const float> values, Scale by, std::span<float> out) override {
    check_same_size(values.size(), out.size());
    const float* from = values.data();
    scaled_loop(by, out, [=](std::size_t i) { return from[i]; });
  }

  void scale_by(std::span<const float> values, const float* factor, std::span<float> out) override {
    scale(values, {*factor, false}, out);
  }

  void sgd(From<SgdFactors> from, std::span<float> values, std::span<const float> grads) override {
    check_same_size(values.size(), grads.size());
    const SgdFactors factors = from.get();
    float* __restrict parameters = values.data();
    const float* __restrict gradient = grads.data();
    for (std::size_t i = 0; i < values.size(); ++i)
      parameters[i] = elements::sgd(parameters[i], gradient[i], factors);
  }

  void sgd_momentum(From<SgdFactors> factors, bool nesterov, std::span<float> parameters,
                    std::span<const float> gradient, std::span<float> momentum) override {
    momentum_of(factors.get(), nesterov, parameters, gradient, momentum);
  }

  void foretell_sgd_momentum(From<SgdFactors> factors, bool nesterov, std::span<float> parameters,
                             std::span<const float> gradient, std::span<const float> momentum) override {
    momentum_of(factors.get(), nesterov, parameters, gradient, momentum);
  }

  void adam(From<AdamFactors> factors, std::span<float> parameters, std::span<const float> gradient,
            std::span<float> average, std::span<float> square) override {
    adam_of(factors.get(), parameters, gradient, average, square);
  }

  void foretell_adam(From<AdamFactors> factors, std::span<float> parameters, std::span<const float> gradient,
                     std::span<const float> average, std::span<const float> square) override {
    adam_of(factors.get(), parameters, gradient, average, square);
  }

  void squared_norm(std::span<const float> values, std::span<double> space) override {
    check_same_size(space.size(), norm_space(values.size()));
    double* const sums = space.data();
    sums[0] = 0;
    sum_blocks(values.data(), values.size(), sums, [](float value) { return elements::squared(value); });
    for (std::size_t left = norm::blocks(values.size()); left > 1; left = norm::blocks(left))
      sum_blocks(sums, left, sums, [](double sum) { return sum; });
  }

  void clip_factor(const double* squared_norm, float norm_max, float* factor) override {
    *factor = elements::clip_factor(*squared_norm, norm_max);
  }

  void find_not_finite(std::span<const float> values, std::uint64_t* first) override {
    constexpr std::size_t kAtOnce = 1024;
    *first = kNone;
    for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
      const auto part = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
      unsigned found = 0;
      for (const float value : part) found |= elements::is_finite(value) ? 0U : 1U;
      if (found == 0) continue;
      const auto where =
          std::find_if(part.begin(), part.end(), [](float v) { return !elements::is_finite(v); });
      *first = begin + static_cast<std::uint64_t>(where - part.begin());
      return;
    }
  }

 private:
  template <class Value>
  void momentum_of(const SgdFactors& factors, bool nesterov, std::span<float> parameters,
                   std::span<const float> gradient, std::span<Value> momentum) {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), momentum.size());
    if (nesterov) return sgd_loop<true>(factors, parameters, gradient, momentum.data());
    sgd_loop<false>(factors, parameters, gradient, momentum.data());
  }

  template <class Value>
  void adam_of(const AdamFactors& factors, std::span<float> parameters, std::span<const float> gradient,
               std::span<Value> average, std::span<Value> square) {
    check_same_size(parameters.size(), gradient.size());
    check_same_size(parameters.size(), average.size());
    check_same_size(parameters.size(), square.size());
    adam_loop(factors, parameters, gradient, average.data(), square.data());
  }
};

}  // namespace

std::unique_ptr<VectorOperations> make_host_vectors() {
  return std::make_unique<HostVectors>();
}

}  // namespace muster
