#include "actors/trainer/gradient_memory.hpp"

#include <utility>

#include "transport/quarantine.hpp"

namespace muster {

GradientMemory::GradientMemory(std::shared_ptr<ComputeDevice> device, std::size_t reduced,
                               std::size_t elements)
    : device_(std::move(device)), host_(reduced) {
  pin();
  if (device_->is_gpu()) gpu_ = DeviceFloats(device_, elements);
}

// Small vectors are left alone.
void GradientMemory::pin() {
  pin_ = {};  // before the memory that it was of goes
  if (device_->is_gpu() && host_.size() * sizeof(float) >= kBorrowableBytesMin)
    pin_ = PinnedRange(device_, host_);
}

void GradientMemory::replace(bool on_gpus) {
  if (on_gpus) {
    quarantine(std::exchange(gpu_, DeviceFloats(device_, gpu_.size())));
    return device_->wait(device_->mark());  // the zeros that it begins with come before all else
  }
  pin_ = {};
  quarantine(std::exchange(host_, Floats(host_.size())));
  pin();
}

void GradientMemory::copy_to_host() {
  device_->copy_out(gpu_.span(), std::span<float>(host_));
  device_->wait(device_->mark());
}

}  // namespace muster
