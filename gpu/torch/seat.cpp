#include "gpu/torch/seat.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "gpu/torch/torch_loss.hpp"
#include "muster/error.hpp"
#ifdef MUSTER_WITH_TORCH_CUDA
#include "gpu/torch/cuda_seat.hpp"
#endif

namespace muster {
namespace {

class HostSeat final : public TorchSeat {
 public:
  at::Device device() const override { return at::Device(at::kCPU); }
  void enter(c10::OptionalStreamGuard&) const override {}
  void check_memory(const void*) const override {}
  at::Tensor inputs(const at::Tensor& host) override { return host; }
  void measure(const at::Tensor& logits, const std::vector<std::int64_t>& labels,
               at::Tensor* slope) override {
    metrics_ = cross_entropy(logits, labels, slope);
  }
  Metrics metrics() override { return metrics_; }

 private:
  Metrics metrics_;
};

[[noreturn]] void refuse(const std::string& device, const std::string& why) {
  throw Error("device " + device + ": " + why);
}

std::unique_ptr<TorchSeat> card_seat(const std::string& device, std::string_view number, void* stream) {
  int card = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), card);
  if (error != std::errc() || end != number.data() + number.size() || card < 0)
    refuse(device, "a card is named cuda:0, cuda:1 and so on");
#ifdef MUSTER_WITH_TORCH_CUDA
  const int cards = torch_cards();
  if (card >= cards) refuse(device, "libtorch sees " + std::to_string(cards) + " cards");
  return make_cuda_seat(card, stream);
#else
  static_cast<void>(stream);
  refuse(device, "this build's libtorch computes on the CPU only");
#endif
}

}  // namespace

std::unique_ptr<TorchSeat> make_seat(const ModelContext& context) {
  const std::string& device = context.device;
  if (device == "cpu" || device.starts_with("cpu:")) return std::make_unique<HostSeat>();
  constexpr std::string_view kCard = "cuda:";
  if (device.starts_with(kCard))
    return card_seat(device, std::string_view(device).substr(kCard.size()), context.stream);
  refuse(device, "models of libtorch compute on cpu:K and cuda:K");
}

}  // namespace muster
