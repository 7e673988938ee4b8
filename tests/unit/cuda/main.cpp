// What needs a GPU. Where there is none, one line says what was not run and why, and ctest calls it skipped.
#include <gtest/gtest.h>

#include <cstdio>

#include "gpu/compute_device.hpp"
#include "muster/error.hpp"

namespace {

constexpr int kSkipped = 77;  // as in tests/CMakeLists.txt

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    muster::make_compute_device("cuda:0");
  } catch (const muster::Error& error) {
    std::printf("not run: the kernels, copies, memory and optimizers of a GPU: %s\n", error.what());
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
