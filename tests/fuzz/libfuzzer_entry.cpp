// Makes a libFuzzer program of a harness.
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::accepts(std::as_bytes(std::span(data, size)));
  return 0;
}
