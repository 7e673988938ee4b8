// A transport whose frames all come twice, at once.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace muster::testing {

class RepeatingTransport final : public Transport, public FrameSink {
 public:
  explicit RepeatingTransport(std::unique_ptr<Transport> below) : below_(std::move(below)) {}

  std::string address() const override { return below_->address(); }
  std::string describe() const override { return below_->describe(); }
  void set_sink(FrameSink* sink) override {
    sink_ = sink;
    below_->set_sink(this);
  }
  void connect(PeerId peer, const std::string& address) override { below_->connect(peer, address); }
  void disconnect(PeerId peer) override { below_->disconnect(peer); }
  bool progress() override { return below_->progress(); }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    below_->send(peer, frame, payload, token);
  }

  std::span<std::byte> place(const Frame& frame) override { return sink_->place(frame); }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    const std::vector<std::byte> again(payload.begin(), payload.end());
    sink_->arrived(frame, payload);
    const auto where = again.empty() ? std::span<std::byte>() : sink_->place(frame);
    if (where.size() != again.size()) return;
    std::copy(again.begin(), again.end(), where.begin());
    sink_->arrived(frame, where);
  }
  void dropped(const Frame& frame) override { sink_->dropped(frame); }
  void abandoned(const Frame& frame) override { sink_->abandoned(frame); }
  void sent(PeerId to, SendToken token, bool ok) override { sink_->sent(to, token, ok); }
  void peer_failed(PeerId peer, const std::string& reason) override { sink_->peer_failed(peer, reason); }
  void refused(const std::string& reason) override { sink_->refused(reason); }

 private:
  std::unique_ptr<Transport> below_;
  FrameSink* sink_ = nullptr;
};

}  // namespace muster::testing
