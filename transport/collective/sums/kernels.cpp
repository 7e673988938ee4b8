#include "transport/collective/sums/kernels.hpp"

#include <cstdint>

// Highway compiles what stands between BEFORE and AFTER once for each kind of processor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transport/collective/sums/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace muster::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
constexpr std::size_t kStreamAlign = 64;  // a cache line, and the longest vector

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

struct Cached {
  template <class V, class D>
  static HWY_INLINE void write(V v, D d, float* out) {
    hn::StoreU(v, d, out);
  }
};

// What is left at the end is no whole vector.
struct Streamed {
  template <class V, class D>
  static HWY_INLINE void write(V v, D d, float* out) {
    if constexpr (hn::MaxLanes(D()) == 1) {
      hn::StoreU(v, d, out);
    } else {
      hn::Stream(v, d, out);
    }
  }
};

// Writes value(d, i) times the factor, or divided by it.
template <class Writer, class Value>
HWY_INLINE void write_scaled(std::size_t count, Scale by, float* out, const Value& value) {
  if (by.divides) {
    for_all(count, [&](auto d, std::size_t i)
                       HWY_ATTR { Writer::write(hn::Div(value(d, i), hn::Set(d, by.factor)), d, out + i); });
  } else {
    for_all(count, [&](auto d, std::size_t i)
                       HWY_ATTR { Writer::write(hn::Mul(value(d, i), hn::Set(d, by.factor)), d, out + i); });
  }
}

template <class Value>
HWY_INLINE void write_scaled(std::size_t count, Scale by, float* out, Store store, const Value& value) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(out) % kStreamAlign == 0;
  if (store == Store::cached || !aligned) return write_scaled<Cached>(count, by, out, value);
  write_scaled<Streamed>(count, by, out, value);
  hwy::FlushStream();  // before whatever says that it is there
}

void Add(const float* left, const float* right, std::size_t count, float* out) {
  for_all(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, out + i);
  });
}

void ScaleAll(const float* values, std::size_t count, Scale by, float* out, Store store) {
  write_scaled(count, by, out, store,
               [&](auto d, std::size_t i) HWY_ATTR { return hn::LoadU(d, values + i); });
}

void AddAndScale(const float* left, const float* right, std::size_t count, Scale by, float* out,
                 Store store) {
  write_scaled(count, by, out, store, [&](auto d, std::size_t i) HWY_ATTR {
    return hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i));
  });
}

void AddFourAndScale(const float* const* v, std::size_t count, Scale by, float* out, Store store) {
  write_scaled(count, by, out, store, [&](auto d, std::size_t i) HWY_ATTR {
    return hn::Add(hn::Add(hn::LoadU(d, v[0] + i), hn::LoadU(d, v[1] + i)),
                   hn::Add(hn::LoadU(d, v[2] + i), hn::LoadU(d, v[3] + i)));
  });
}

}  // namespace muster::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::kernels {

HWY_EXPORT(Add);
HWY_EXPORT(ScaleAll);
HWY_EXPORT(AddAndScale);
HWY_EXPORT(AddFourAndScale);

void add(const float* left, const float* right, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Add)(left, right, count, out);
}

void scale(const float* values, std::size_t count, Scale by, float* out, Store store) {
  HWY_DYNAMIC_DISPATCH(ScaleAll)(values, count, by, out, store);
}

void add_and_scale(const float* left, const float* right, std::size_t count, Scale by, float* out,
                   Store store) {
  HWY_DYNAMIC_DISPATCH(AddAndScale)(left, right, count, by, out, store);
}

void add_four_and_scale(const std::array<const float*, 4>& v, std::size_t count, Scale by, float* out,
                        Store store) {
  HWY_DYNAMIC_DISPATCH(AddFourAndScale)(v.data(), count, by, out, store);
}

const char* chosen() {
  const auto supported = hwy::SupportedTargets();
  return hwy::TargetName(supported & -supported);
}

}  // namespace muster::kernels
#endif
