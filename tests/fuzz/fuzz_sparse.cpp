// Sums in their sparse form (transport/collective/sums/sparse.hpp). The first bytes choose the wire and how
// many elements are expected.
#include "transport/collective/sums/sparse.hpp"

#include <cmath>

#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

constexpr float kUntouched = 4711.0F;
constexpr std::size_t kBeside = 64;
constexpr std::uint32_t kElementsMax = 70'000;  // more than a block

Wire wire_of(std::uint32_t choice) {
  return choice == 0 ? Wire{} : choice == 1 ? Wire{WireType::float16, 3} : Wire{WireType::bfloat16, 0};
}

// On a wire of 16 bits NaN arrives as another NaN.
bool has_one_form(const Wire& wire, std::span<const float> values) {
  return !wire.rounds() ||
         std::none_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

Bytes input_of(std::uint8_t choice, const std::vector<float>& values) {
  Bytes form(values.size() * sizeof(float));
  const auto bytes = pack_sparse(values.data(), values.size(), wire_of(choice), form.data(), form.size());
  MUSTER_CHECK(bytes, values.size());
  form.resize(*bytes);
  const auto count = static_cast<std::uint32_t>(values.size());
  return joined({raw(choice), raw(count), form});
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const Wire wire = wire_of(choices.below(3));
  const std::size_t count = choices.number<std::uint32_t>() % (kElementsMax + 1);
  const Input form = choices.rest();
  std::vector<float> room(count + 2 * kBeside, kUntouched);
  const std::span<float> values = std::span(room).subspan(kBeside, count);
  const bool good = unpack_sparse(form, count, wire, values.data());
  for (std::size_t i = 0; i < kBeside; ++i)
    MUSTER_CHECK(room[i] == kUntouched && room[kBeside + count + i] == kUntouched, i);
  if (!good || !has_one_form(wire, values)) return good;
  Bytes again(form.size());
  const auto bytes = pack_sparse(values.data(), count, wire, again.data(), again.size());
  MUSTER_CHECK(bytes && same_bytes(again, form), form.size(), count);
  return true;
}

std::vector<Bytes> seeds() {
  std::vector<float> one(6, 0.0F), some(200, 0.0F), two_blocks(66'000, 0.0F);
  one[3] = -0.0F;
  for (std::size_t i = 0; i < some.size(); i += 7) some[i] = 1.5F;
  two_blocks.front() = two_blocks[65'535] = two_blocks[65'536] = two_blocks.back() = 2.0F;
  std::vector<Bytes> all;
  for (const std::uint8_t wire : {0, 1, 2}) {
    for (const auto& values : {one, some, two_blocks}) all.push_back(input_of(wire, values));
  }
  return all;
}

}  // namespace muster::fuzz
