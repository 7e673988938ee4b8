#include "transport/collective/sums/wire.hpp"

#include <cmath>

#include "base/check.hpp"

// Highway compiles what stands between BEFORE and AFTER once for each kind of processor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transport/collective/sums/wire.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace muster::wire16::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each type: from the bits of floats to 16 bits in the lower half of each lane, and back.

struct Bfloat16 {
  template <class U>
  HWY_INLINE hn::Vec<U> down(U u, hn::Vec<U> bits) const {
    const auto size = hn::And(bits, hn::Set(u, 0x7fffffffu));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fffu))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(u, 0x40));  // still NaN
    return hn::IfThenElse(hn::Gt(size, hn::Set(u, 0x7f800000u)), quiet, rounded);
  }
  template <class U>
  HWY_INLINE hn::Vec<U> up(U, hn::Vec<U> halves) const {
    return hn::ShiftLeft<16>(halves);
  }
};

struct Float16 {
  float to, from;  // powers of two

  template <class U>
  HWY_INLINE hn::Vec<U> down(U u, hn::Vec<U> given) const {
    const hn::RebindToFloat<U> f;
    const auto bits = hn::BitCast(u, hn::Mul(hn::BitCast(f, given), hn::Set(f, to)));
    const auto size = hn::And(bits, hn::Set(u, 0x7fffffffu));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, size));
    const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(u, 1));
    const auto bias = hn::Set(u, 0xc8000fffu);  // the exponent's (15 - 127) << 23, and just less than half
    const auto normal = hn::ShiftRight<13>(hn::Add(size, hn::Add(bias, odd)));
    // A number below 2^-14 is rounded by an addition that leaves it at the low end of the mantissa.
    const auto magic = hn::Set(u, 126u << 23);
    const auto small = hn::Sub(hn::BitCast(u, hn::Add(hn::BitCast(f, size), hn::BitCast(f, magic))), magic);
    const auto none =
        hn::IfThenElse(hn::Gt(size, hn::Set(u, 0x7f800000u)), hn::Set(u, 0x7e00u), hn::Set(u, 0x7c00u));
    auto half = hn::IfThenElse(hn::Lt(size, hn::Set(u, 113u << 23)), small, normal);
    half = hn::IfThenElse(hn::Lt(size, hn::Set(u, 143u << 23)), half, none);
    return hn::Or(half, sign);
  }
  template <class U>
  HWY_INLINE hn::Vec<U> up(U u, hn::Vec<U> halves) const {
    const hn::RebindToFloat<U> f;
    const auto size = hn::ShiftLeft<13>(hn::And(halves, hn::Set(u, 0x7fffu)));
    const auto exponent = hn::And(size, hn::Set(u, 0x7c00u << 13));
    const auto normal = hn::Add(size, hn::Set(u, 112u << 23));
    const auto none = hn::Add(normal, hn::Set(u, 112u << 23));
    const auto first = hn::Set(u, 113u << 23);
    const auto small = hn::BitCast(u, hn::Sub(hn::BitCast(f, hn::Add(size, first)), hn::BitCast(f, first)));
    auto bits = hn::IfThenElse(hn::Eq(exponent, hn::Zero(u)), small, normal);
    bits = hn::IfThenElse(hn::Eq(exponent, hn::Set(u, 0x7c00u << 13)), none, bits);
    bits = hn::Or(bits, hn::ShiftLeft<16>(hn::And(halves, hn::Set(u, 0x8000u))));
    return hn::BitCast(u, hn::Mul(hn::BitCast(f, bits), hn::Set(f, from)));
  }
};

template <class U>
HWY_INLINE hn::Vec<U> load(U u, const float* from) {
  return hn::BitCast(u, hn::LoadU(hn::RebindToFloat<U>(), from));
}
template <class U>
HWY_INLINE void store(U u, hn::Vec<U> bits, float* to) {
  const hn::RebindToFloat<U> f;
  (void)u;
  hn::StoreU(hn::BitCast(f, bits), f, to);
}

// Applies `each` to vectors, and to what is left one by one; from the front, or from the back.
template <class Each>
HWY_INLINE void forward(std::size_t count, const Each& each) {
  const hn::ScalableTag<std::uint32_t> lanes;
  const std::size_t step = hn::Lanes(lanes);
  std::size_t i = 0;
  for (; i + step <= count; i += step) each(lanes, i);
  const hn::CappedTag<std::uint32_t, 1> one;
  for (; i < count; ++i) each(one, i);
}
template <class Each>
HWY_INLINE void backward(std::size_t count, const Each& each) {
  const hn::ScalableTag<std::uint32_t> lanes;
  const std::size_t step = hn::Lanes(lanes);
  const hn::CappedTag<std::uint32_t, 1> one;
  std::size_t i = count;
  for (; i % step != 0; --i) each(one, i - 1);
  for (; i > 0; i -= step) each(lanes, i - step);
}

template <class Type>
HWY_INLINE void round_all(const Type& type, float* values, std::size_t count) {
  forward(count, [&](auto u, std::size_t i)
                     HWY_ATTR { store(u, type.up(u, type.down(u, load(u, values + i))), values + i); });
}
template <class Type>
HWY_INLINE void pack_all(const Type& type, const float* values, std::size_t count, std::uint16_t* out) {
  forward(count, [&](auto u, std::size_t i) HWY_ATTR {
    const hn::Rebind<std::uint16_t, decltype(u)> halves;
    const hn::RebindToSigned<decltype(u)> s;
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(s, type.down(u, load(u, values + i)))), halves, out + i);
  });
}
template <class Type>
HWY_INLINE void unpack_all(const Type& type, const std::uint16_t* values, std::size_t count, float* out) {
  backward(count, [&](auto u, std::size_t i) HWY_ATTR {
    const hn::Rebind<std::uint16_t, decltype(u)> halves;
    store(u, type.up(u, hn::PromoteTo(u, hn::LoadU(halves, values + i))), out + i);
  });
}

void RoundBfloat16(float* values, std::size_t count) {
  round_all(Bfloat16{}, values, count);
}
void PackBfloat16(const float* values, std::size_t count, std::uint16_t* out) {
  pack_all(Bfloat16{}, values, count, out);
}
void UnpackBfloat16(const std::uint16_t* values, std::size_t count, float* out) {
  unpack_all(Bfloat16{}, values, count, out);
}
void RoundFloat16(float to, float from, float* values, std::size_t count) {
  round_all(Float16{to, from}, values, count);
}
void PackFloat16(float to, float from, const float* values, std::size_t count, std::uint16_t* out) {
  pack_all(Float16{to, from}, values, count, out);
}
void UnpackFloat16(float to, float from, const std::uint16_t* values, std::size_t count, float* out) {
  unpack_all(Float16{to, from}, values, count, out);
}

}  // namespace muster::wire16::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster {
namespace wire16 {

HWY_EXPORT(RoundBfloat16);
HWY_EXPORT(PackBfloat16);
HWY_EXPORT(UnpackBfloat16);
HWY_EXPORT(RoundFloat16);
HWY_EXPORT(PackFloat16);
HWY_EXPORT(UnpackFloat16);

struct Powers {
  explicit Powers(const Wire& wire)
      : to(std::ldexp(1.0F, wire.exponent)), from(std::ldexp(1.0F, -wire.exponent)) {
    MUSTER_CHECK(wire.rounds() && wire.exponent >= -60 && wire.exponent <= 60, wire.exponent);
  }
  float to, from;
};

}  // namespace wire16

using namespace wire16;

void round_to(const Wire& wire, std::size_t count, float* values) {
  const Powers by(wire);
  if (wire.type == WireType::bfloat16) return HWY_DYNAMIC_DISPATCH(RoundBfloat16)(values, count);
  HWY_DYNAMIC_DISPATCH(RoundFloat16)(by.to, by.from, values, count);
}

void pack(const Wire& wire, const float* values, std::size_t count, std::uint16_t* out) {
  const Powers by(wire);
  if (wire.type == WireType::bfloat16) return HWY_DYNAMIC_DISPATCH(PackBfloat16)(values, count, out);
  HWY_DYNAMIC_DISPATCH(PackFloat16)(by.to, by.from, values, count, out);
}

void unpack(const Wire& wire, const std::uint16_t* values, std::size_t count, float* out) {
  const Powers by(wire);
  if (wire.type == WireType::bfloat16) return HWY_DYNAMIC_DISPATCH(UnpackBfloat16)(values, count, out);
  HWY_DYNAMIC_DISPATCH(UnpackFloat16)(by.to, by.from, values, count, out);
}

}  // namespace muster
#endif
