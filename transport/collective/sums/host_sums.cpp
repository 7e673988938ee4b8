#include <algorithm>
#include <vector>

#include "transport/borrowable.hpp"
#include "transport/collective/sums/kernels.hpp"
#include "transport/collective/sums/sum_memory.hpp"

namespace muster {
namespace {

constexpr std::size_t kBlock = 16 * 1024;  // floats: what stays in the nearest cache on its way up

class HostSums final : public SumMemory {
 public:
  HostSums(std::size_t elements, Wire wire) : elements_(elements), wire_(wire) {}

  float* make() override {
    owned_.emplace_back(elements_);
    return owned_.back().get();
  }

  void add_up(std::span<float* const> operands, ElementRange elements) override {
    for (std::size_t begin = elements.begin; begin < elements.end; begin += kBlock) {
      const std::size_t count = std::min(kBlock, elements.end - begin);
      if (wire_.rounds()) round_to(wire_, count, operands.front() + begin);
      for (std::size_t i = 1; i < operands.size(); ++i) {
        kernels::add(operands[i] + begin, operands[i - 1] + begin, count, operands[i] + begin);
        if (wire_.rounds()) round_to(wire_, count, operands[i] + begin);
      }
    }
  }

  void finish(std::span<float* const>, ElementRange) override { ++finished_; }
  std::size_t finished(bool) override { return finished_; }
  const float* readable(float* sums) override { return sums; }
  void start() override { finished_ = 0; }

 private:
  std::size_t elements_;
  Wire wire_;
  std::vector<FloatBuffer> owned_;
  std::size_t finished_ = 0;
};

}  // namespace

std::unique_ptr<SumMemory> make_host_sums(std::size_t elements, Wire wire) {
  return std::make_unique<HostSums>(elements, wire);
}

}  // namespace muster
