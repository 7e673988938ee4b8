// What becomes of one element: the only place where the arithmetic of an update or a sum is written.
// The loops of the host and the kernels of a GPU call the same functions, both without contraction and
// without fast-math, so that both give the same bits. (A NaN is a NaN on both; which NaN arithmetic makes is
// the processor's choice.)
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define MUSTER_BOTH __host__ __device__
#else
#define MUSTER_BOTH
#endif

namespace muster::elements {

/// What becomes of a sum: a product, where that has the bits of the division, or the quotient.
struct Scale {
  float factor = 1;
  bool divides = false;
};

/// What an update by gradient descent takes from its step.
struct SgdFactors {
  float rate = 0;
  float decay = 0;
  float keep = 0;  ///< of the momentum
};

/// What an update by Adam takes from its step; computed in double, cast to float once.
struct AdamFactors {
  float beta1 = 0, rest1 = 1;  ///< rest: 1 - beta
  float beta2 = 0, rest2 = 1;
  float epsilon = 0;
  float decay = 0;   ///< goes into the gradient
  float shrink = 1;  ///< goes onto the weight
  float step_size = 0;
  float root_scale = 1;
};

/// Factors of an update: given with the call, or read from device memory when the work is done.
template <class Factors>
struct From {
  Factors given{};
  const Factors* block = nullptr;

  From(const Factors& factors) : given(factors) {}
  From(const Factors* on_device) : block(on_device) {}
  MUSTER_BOTH Factors get() const { return block != nullptr ? *block : given; }
};

MUSTER_BOTH inline std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}

MUSTER_BOTH inline float scaled(float value, float factor, bool divides) {
  return divides ? value / factor : value * factor;
}

// --- updates --------------------------------------------------------------------------------------------

MUSTER_BOTH inline float sgd(float parameter, float gradient, const SgdFactors& f) {
  const float grad = gradient + f.decay * parameter;
  return parameter - f.rate * grad;
}

/// Changes the parameter and its velocity.
template <bool nesterov>
MUSTER_BOTH inline void sgd_momentum(float& parameter, float& momentum, float gradient, const SgdFactors& f) {
  const float grad = gradient + f.decay * parameter;
  const float velocity = f.keep * momentum + grad;
  momentum = velocity;
  parameter -= f.rate * (nesterov ? grad + f.keep * velocity : velocity);
}

/// Changes the parameter and both averages.
MUSTER_BOTH inline void adam(float& parameter, float& average, float& square, float gradient,
                             const AdamFactors& f) {
  const float weight = parameter * f.shrink;
  const float grad = gradient + f.decay * weight;
  const float mean = f.beta1 * average + f.rest1 * grad;
  const float variance = f.beta2 * square + f.rest2 * grad * grad;
  average = mean;
  square = variance;
  parameter = weight - f.step_size * mean / (std::sqrt(variance) / f.root_scale + f.epsilon);
}

// --- looks across elements ------------------------------------------------------------------------------

MUSTER_BOTH inline bool is_finite(float value) {
  return (bits_of(value) & 0x7f800000U) != 0x7f800000U;
}

/// Exact: a float has 24 bits.
MUSTER_BOTH inline double squared(float value) {
  const double wide = value;
  return wide * wide;
}

/// By what a gradient with this squared norm is multiplied so that its norm is at most `norm_max`; as
/// torch.nn.utils.clip_grad_norm_ has it. NaN for a norm that is none.
MUSTER_BOTH inline float clip_factor(double squared_norm, float norm_max) {
  const double factor = static_cast<double>(norm_max) / (std::sqrt(squared_norm) + 1e-6);
  return factor >= 1.0 ? 1.0F : static_cast<float>(factor);
}

}  // namespace muster::elements
