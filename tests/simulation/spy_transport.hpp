// Stands between an engine and its transport, and shows every frame that passes.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "muster/transport/transport.hpp"
#include "tests/simulation/watch.hpp"

namespace muster::simulation {

class SpyTransport final : public Transport, public FrameSink {
 public:
  /// `deaf`: greetings are lost on their way in.
  SpyTransport(Transport& below, ProcessId process, Watch& watch, std::shared_ptr<const bool> deaf)
      : below_(below), process_(process), watch_(watch), deaf_(std::move(deaf)) {}

  std::string address() const override { return below_.address(); }
  std::string describe() const override { return below_.describe(); }
  void set_sink(FrameSink* sink) override {
    sink_ = sink;
    below_.set_sink(this);
  }
  void connect(PeerId peer, const std::string& address) override { below_.connect(peer, address); }
  void disconnect(PeerId peer) override { below_.disconnect(peer); }
  bool progress() override { return below_.progress(); }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    const SendToken number = ++sends_;
    tokens_[number] = token;
    watch_.sending(process_, frame, payload, number);
    below_.send(peer, frame, payload, number);
  }

  std::span<std::byte> place(const Frame& frame) override {
    const bool greeting = frame.kind == FrameKind::header && frame.round == 0;
    const auto place = greeting && *deaf_ ? std::span<std::byte>() : sink_->place(frame);
    watch_.placed(process_, frame, place);
    return place;
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    watch_.taken(process_, frame, payload);
    sink_->arrived(frame, payload);
  }
  void dropped(const Frame& frame) override {
    watch_.dropped(process_, frame);
    sink_->dropped(frame);
  }
  void sent(PeerId to, SendToken number, bool ok) override {
    const auto found = tokens_.find(number);
    const SendToken token = found->second;
    tokens_.erase(found);
    watch_.send_ended(process_, number, ok);
    sink_->sent(to, token, ok);
  }
  void peer_failed(PeerId peer, const std::string& reason) override { sink_->peer_failed(peer, reason); }
  void refused(const std::string& reason) override { sink_->refused(reason); }

 private:
  Transport& below_;
  ProcessId process_;
  Watch& watch_;
  std::shared_ptr<const bool> deaf_;
  FrameSink* sink_ = nullptr;
  std::map<SendToken, SendToken> tokens_;  // the engine's, by a number of its own for each send
  SendToken sends_ = 0;
};

}  // namespace muster::simulation
