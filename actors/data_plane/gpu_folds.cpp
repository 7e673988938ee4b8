#include "actors/data_plane/gpu_folds.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.hpp"

namespace muster {
namespace {

class GpuFolds final : public FoldUnit {
 public:
  explicit GpuFolds(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {}

  ~GpuFolds() override { wait(); }

  void wait() noexcept override {
    try {
      device_->synchronize();
    } catch (const std::exception&) {  // the GPU has failed: nothing is under way any more
    }
  }

  // Transports write to it as soon as they have it: the zeros that it begins with are waited for.
  float* make(std::size_t elements) override {
    float* const memory = owned_.emplace_back(device_, elements).data();
    device_->wait(device_->mark());
    return memory;
  }

  // The stack's levels that hold sums have vectors of their own; the last step writes to `out`, scaled.
  std::uint64_t fold(const FoldProgram& program, std::span<const float* const> operands, std::size_t count,
                     float divisor, float* out) override {
    const elements::Scale by{divisor, true};
    stack_.clear();
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const bool last = i + 1 == program.code.size();
      if (program.code[i] != FoldProgram::kAdd) {
        stack_.push_back({operands[program.code[i]], count});
        if (last) device_->vectors().scale(stack_.back(), by, {out, count});
        continue;
      }
      const auto right = stack_.back();
      stack_.pop_back();
      const std::span<float> sum = last ? std::span(out, count) : level(stack_.size() - 1, count);
      device_->vectors().add(stack_.back(), right, last ? by : elements::Scale{}, sum);
      stack_.back() = sum;
    }
    under_way_.push_back(device_->mark());
    return ++begun_;
  }

  std::uint64_t ended() override {
    while (!under_way_.empty() && device_->reached(under_way_.front())) {
      under_way_.pop_front();
      ++ended_;
    }
    return ended_;
  }

  void pairs(std::span<const float> values, std::size_t stride, std::vector<float>& out) override {
    constexpr std::size_t kPair = 2;
    const std::size_t pairs = values.size() < kPair ? 0 : (values.size() - kPair) / stride + 1;
    out.resize(pairs * kPair);
    if (host_.size() < out.size()) host_ = PinnedFloats(device_, out.size());
    device_->copy_out_rows(values, stride, kPair, host_.span().first(out.size()));
    device_->wait(device_->mark());
    std::copy_n(host_.data(), out.size(), out.begin());
  }

 private:
  std::span<float> level(std::size_t depth, std::size_t count) {
    while (levels_.size() <= depth) levels_.emplace_back();
    if (levels_[depth].size() < count) levels_[depth] = DeviceFloats(device_, count);
    return levels_[depth].span().first(count);
  }

  const std::shared_ptr<ComputeDevice> device_;
  std::deque<DeviceFloats> owned_;
  std::vector<DeviceFloats> levels_;  // sums that are operands of the next ones
  PinnedFloats host_;                 // for pairs
  std::vector<std::span<const float>> stack_;
  std::deque<Mark> under_way_;
  std::uint64_t begun_ = 0, ended_ = 0;
};

}  // namespace

std::unique_ptr<FoldUnit> make_gpu_folds(std::shared_ptr<ComputeDevice> device) {
  return std::make_unique<GpuFolds>(std::move(device));
}

}  // namespace muster
