#include "muster/transport/collective/kernels.hpp"

// Highway compiles what stands between BEFORE and AFTER once for each kind of processor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/transport/collective/kernels.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace muster::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;

// Applies `each` to vectors, and to what is left one by one.
template <class Each>
HWY_INLINE void for_all(std::size_t count, const Each& each) {
  const Lanes lanes;
  const std::size_t step = hn::Lanes(lanes);
  std::size_t i = 0;
  for (; i + 4 * step <= count; i += 4 * step) {
    each(lanes, i);
    each(lanes, i + step);
    each(lanes, i + 2 * step);
    each(lanes, i + 3 * step);
  }
  for (; i + step <= count; i += step) each(lanes, i);
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) each(one, i);
}

void Add(const float* left, const float* right, std::size_t count, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, out + i);
  });
}

void Multiply(const float* values, std::size_t count, float factor, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, values + i), hn::Set(d, factor)), d, out + i);
  });
}

void Divide(const float* values, std::size_t count, float divisor, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Div(hn::LoadU(d, values + i), hn::Set(d, divisor)), d, out + i);
  });
}

void AddMultiply(const float* left, const float* right, std::size_t count, float factor, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i));
    hn::StoreU(hn::Mul(sum, hn::Set(d, factor)), d, out + i);
  });
}

void AddDivide(const float* left, const float* right, std::size_t count, float divisor, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i));
    hn::StoreU(hn::Div(sum, hn::Set(d, divisor)), d, out + i);
  });
}

template <class D>
HWY_INLINE auto SumOfFour(D d, const float* const* v, std::size_t i) {
  return hn::Add(hn::Add(hn::LoadU(d, v[0] + i), hn::LoadU(d, v[1] + i)),
                 hn::Add(hn::LoadU(d, v[2] + i), hn::LoadU(d, v[3] + i)));
}

void AddFourMultiply(const float* const* v, std::size_t count, float factor, float* out) {
  for_all(count, [&](auto d, std::size_t i)
                     HWY_ATTR { hn::StoreU(hn::Mul(SumOfFour(d, v, i), hn::Set(d, factor)), d, out + i); });
}

void AddFourDivide(const float* const* v, std::size_t count, float divisor, float* out) {
  for_all(count, [&](auto d, std::size_t i)
                     HWY_ATTR { hn::StoreU(hn::Div(SumOfFour(d, v, i), hn::Set(d, divisor)), d, out + i); });
}

}  // namespace muster::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::kernels {

HWY_EXPORT(Add);
HWY_EXPORT(Multiply);
HWY_EXPORT(Divide);
HWY_EXPORT(AddMultiply);
HWY_EXPORT(AddDivide);
HWY_EXPORT(AddFourMultiply);
HWY_EXPORT(AddFourDivide);

void add(const float* left, const float* right, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Add)(left, right, count, out);
}

void scale(const float* values, std::size_t count, Scale by, float* out) {
  if (by.divides) {
    HWY_DYNAMIC_DISPATCH(Divide)(values, count, by.factor, out);
  } else {
    HWY_DYNAMIC_DISPATCH(Multiply)(values, count, by.factor, out);
  }
}

void add_and_scale(const float* left, const float* right, std::size_t count, Scale by, float* out) {
  if (by.divides) {
    HWY_DYNAMIC_DISPATCH(AddDivide)(left, right, count, by.factor, out);
  } else {
    HWY_DYNAMIC_DISPATCH(AddMultiply)(left, right, count, by.factor, out);
  }
}

void add_four_and_scale(const std::array<const float*, 4>& v, std::size_t count, Scale by, float* out) {
  if (by.divides) {
    HWY_DYNAMIC_DISPATCH(AddFourDivide)(v.data(), count, by.factor, out);
  } else {
    HWY_DYNAMIC_DISPATCH(AddFourMultiply)(v.data(), count, by.factor, out);
  }
}

const char* chosen() {
  const auto supported = hwy::SupportedTargets();
  return hwy::TargetName(supported & -supported);
}

}  // namespace muster::kernels
#endif
