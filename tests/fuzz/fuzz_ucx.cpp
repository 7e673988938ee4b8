// The entry of the data plane: active messages of UCX with any header and any payload, sent by a worker to
// itself (transport/ucx/messages.hpp). An input is up to three messages: length of the header, length of the
// payload in 16 bits, header, payload. Payloads beyond 1 KiB come by rendezvous.
#include <cstdlib>
#include <deque>
#include <random>

#include "tests/fuzz/checked_frames.hpp"
#include "transport/ucx/messages.hpp"
#include "transport/ucx/worker.hpp"

namespace muster::fuzz {
namespace {

constexpr int kTurnsMax = 1'000'000;

/// Counts what it is told; everything it gave a place for must end.
class CountingSink final : public FrameSink {
 public:
  /// `mark` is the incarnation of the message that comes last; no input can know it.
  explicit CountingSink(std::uint64_t mark) : mark_(mark) {}

  std::span<std::byte> place(const Frame& frame) override {
    if (frame.view == 1) return {};  // as a member does with an old view
    return places_.emplace_back(frame.bytes);
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    MUSTER_CHECK(payload.size() == frame.bytes, payload.size(), frame.bytes);
    marked_ = marked_ || frame.incarnation == mark_;
    if (frame.incarnation != mark_) ++accepted_;
    if (!payload.empty()) ++given_back_;
  }
  void dropped(const Frame&) override { ++given_back_; }
  void sent(PeerId, SendToken, bool) override {}
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string& why) override { MUSTER_CHECK(!why.empty()); }

  std::size_t accepted() const { return accepted_; }
  /// The last message is here, and so is all that has a place.
  bool complete() const { return marked_ && places_.size() == given_back_; }

 private:
  const std::uint64_t mark_;
  std::size_t accepted_ = 0;
  bool marked_ = false;
  std::deque<std::vector<std::byte>> places_;
  std::size_t given_back_ = 0;
};

/// One worker for all inputs: a context costs milliseconds.
class Loop {
 public:
  Loop() : worker_({.listen = ""}) {
    messages_.listen(worker_.get());
    endpoint_ = std::make_unique<ucx::Endpoint>(worker_.get(), 1, worker_.address(), failures_);
  }

  bool deliver(Input input) {
    const std::uint64_t mark = ++delivered_ * 0x9e3779b97f4a7c15 ^ start_;
    CountingSink sink(mark);
    messages_.set_sink(&sink);
    Choices choices(input);
    std::deque<Frame> headers;  // UCX reads them until the sends have ended
    std::vector<ucs_status_ptr_t> requests;
    for (int count = 0; count < 3 && !choices.empty(); ++count) {
      const std::size_t header_bytes = choices.number<std::uint8_t>();
      const std::size_t bytes = choices.number<std::uint16_t>();
      const Input header = choices.piece(header_bytes);
      const Input payload = choices.piece(bytes);
      const bool whole = header.size() == sizeof(Frame);
      send(whole ? raw(headers.emplace_back(with_check(header))) : header, payload, requests);
    }
    Frame last;
    last.incarnation = mark;
    last = checked(last);
    send(raw(last), {}, requests);
    for (int turns = 0; !sink.complete() || !all_sent(requests); ++turns) {
      MUSTER_CHECK(turns < kTurnsMax, requests.size());
      ucp_worker_progress(worker_.get());
    }
    messages_.deafen();
    MUSTER_CHECK(failures_.empty());
    return sink.accepted() > 0;
  }

 private:
  void send(Input header, Input data, std::vector<ucs_status_ptr_t>& requests) {
    ucp_request_param_t parameters{};
    const auto request = ucp_am_send_nbx(endpoint_->get(), ucx::kFrameMessage, header.data(), header.size(),
                                         data.data(), data.size(), &parameters);
    MUSTER_CHECK(!UCS_PTR_IS_ERR(request), ucs_status_string(UCS_PTR_STATUS(request)));
    if (request != nullptr) requests.push_back(request);
  }
  static bool all_sent(std::vector<ucs_status_ptr_t>& requests) {
    std::erase_if(requests, [](ucs_status_ptr_t request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
    return requests.empty();
  }

  const std::uint64_t start_ = std::random_device{}();
  std::uint64_t delivered_ = 0;
  ucx::Messages messages_;  // ends after the worker
  std::vector<ucx::Endpoint*> failures_;
  ucx::Worker worker_;
  std::unique_ptr<ucx::Endpoint> endpoint_;
};

Bytes message(Input header, std::uint16_t bytes) {
  const auto header_bytes = static_cast<std::uint8_t>(header.size());
  return joined({raw(header_bytes), raw(bytes), header, Bytes(bytes, std::byte{90})});
}

}  // namespace

bool accepts(Input input) {
  static const bool set = [] {
    // Read when the worker is made. Not UCX's "self": it cannot tell of failures, which every endpoint here
    // must.
    return ::setenv("UCX_TLS", "posix", 1) == 0 && ::setenv("UCX_RNDV_THRESH", "1024", 1) == 0;
  }();
  MUSTER_CHECK(set);
  static Loop loop;
  return loop.deliver(input);
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const std::uint16_t bytes : {0, 100, 3000}) {
    Frame frame;
    frame.bytes = bytes;
    all.push_back(message(raw(frame), bytes));
  }
  return all;
}

}  // namespace muster::fuzz
