#include "gpu/compute_device.hpp"

#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"
#ifdef MUSTER_WITH_CUDA
#include "gpu/cuda_discover.hpp"
#include "gpu/cuda_make.hpp"
#endif

namespace muster {

Mark::Mark(Mark&& other) noexcept
    : device_(std::move(other.device_)), event_(std::exchange(other.event_, nullptr)) {}

Mark& Mark::operator=(Mark&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}

Mark::~Mark() {
  if (event_ != nullptr) device_->forget(event_);
}

void ComputeDevice::check_rows(std::size_t from, std::size_t stride, std::size_t width, std::size_t to) {
  MUSTER_CHECK(width > 0 && stride >= width && to % width == 0, "rows of", width, "in", stride, "to", to);
  MUSTER_CHECK(to == 0 || (to / width - 1) * stride + width <= from, "elements", from, "rows of", width, "in",
               stride, "to", to);
}

namespace {

/// The K of "kind:K", or -1.
int number_in(const std::string& name, const std::string& kind) {
  if (!name.starts_with(kind + ":")) return -1;
  int number = -1;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kind.size() + 1, end, number);
  return error == std::errc() && rest == end ? number : -1;
}

[[maybe_unused]] std::shared_ptr<ComputeDevice> refused(const std::string& name, const std::string& reason) {
  throw Error("device '" + name + "' cannot be used: " + reason);
}

}  // namespace

int gpu_number(const std::string& device) {
  return number_in(device, "cuda");
}

std::shared_ptr<ComputeDevice> make_compute_device(const std::string& name,
                                                   [[maybe_unused]] const DeviceMemory& memory) {
  if (name == "cpu" || number_in(name, "cpu") >= 0) return make_host_device();
  const int number = gpu_number(name);
  if (number < 0) return refused(name, "a device is \"cpu\", \"cpu:K\" or \"cuda:K\"");
#ifdef MUSTER_WITH_CUDA
  const CudaGpus found = discover_cuda();
  if (found.gpus.empty()) return refused(name, found.reason);
  if (static_cast<std::size_t>(number) >= found.gpus.size())
    return refused(name, "the GPUs are cuda:0 to cuda:" + std::to_string(found.gpus.size() - 1));
  return make_cuda_device(number, memory);
#else
  return refused(name, "this build has no CUDA");
#endif
}

}  // namespace muster
