// A stranger who speaks UCX, but not this protocol, is refused and harms nobody.
#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/ucx/address.hpp"
#include "transport/ucx/messages.hpp"
#include "transport/ucx/ucx_transport.hpp"
#include "transport/ucx/worker.hpp"

namespace {

using namespace muster;

/// A bare worker with one endpoint.
class Stranger {
 public:
  explicit Stranger(const std::string& address) : worker_({.listen = "127.0.0.1"}) {
    endpoint_ = std::make_unique<ucx::Endpoint>(worker_.get(), 1, ucx::open_address(address), failures_);
  }
  ~Stranger() {
    endpoint_->close();
    for (int count = 0; count < 1000 && !endpoint_->ended(); ++count) progress();
  }

  /// The bytes must outlive the sending.
  void send(const std::vector<std::byte>& header, const std::vector<std::byte>& data) {
    ucp_request_param_t parameters{};
    const auto request = ucp_am_send_nbx(endpoint_->get(), ucx::kFrameMessage, header.data(), header.size(),
                                         data.data(), data.size(), &parameters);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    if (request != nullptr) requests_.push_back(request);
  }
  void progress() {
    ucp_worker_progress(worker_.get());
    std::erase_if(requests_, [](ucs_status_ptr_t request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
  }
  bool all_sent() const { return requests_.empty(); }

 private:
  std::vector<ucx::Endpoint*> failures_;
  std::unique_ptr<ucx::Endpoint> endpoint_;
  ucx::Worker worker_;
  std::vector<ucs_status_ptr_t> requests_;
};

std::vector<std::byte> bytes_of(const Frame& bare) {
  const Frame frame = checked(bare);
  const auto* begin = reinterpret_cast<const std::byte*>(&frame);
  return {begin, begin + sizeof frame};
}

TEST(UcxGarbage, IsRefusedWithItsReason) {
  const auto transport = make_ucx_transport({});
  muster::testing::RecordingSink sink;
  transport->set_sink(&sink);
  Stranger stranger(transport->address());
  const std::vector<std::byte> nonsense(64, std::byte{0x5a});
  const std::vector<std::byte> empty;
  const std::vector<std::byte> shorter(12);
  const auto wrong_length = bytes_of(muster::testing::frame_of(1, 1, 99));
  const auto large_wrong_length = bytes_of(muster::testing::frame_of(1, 2, 4));
  const auto good = bytes_of(muster::testing::frame_of(1, 3, 2 << 20));
  const auto small = muster::testing::pattern(3, 10);
  const auto large = muster::testing::pattern(3, 2 << 20);
  stranger.send(nonsense, small);
  stranger.send(empty, small);
  stranger.send(shorter, empty);
  stranger.send(nonsense, large);
  stranger.send(wrong_length, small);
  stranger.send(large_wrong_length, large);
  stranger.send(good, large);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((sink.whole.empty() || sink.refusals.size() < 6 || !stranger.all_sent()) &&
         std::chrono::steady_clock::now() < give_up) {
    stranger.progress();
    transport->progress();
  }
  EXPECT_EQ(sink.refusals.size(), 6u);
  EXPECT_EQ(sink.whole.size(), 1u);
  EXPECT_EQ(sink.half_arrived(), 0u);
  EXPECT_TRUE(stranger.all_sent());
}

}  // namespace
