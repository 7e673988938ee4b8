// Stands between an engine and its transport: shows every frame that passes, and spoils some (arrivals.hpp).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/arrivals.hpp"
#include "tests/simulation/watch.hpp"
#include "transport/transport.hpp"

namespace muster::simulation {

class SpyTransport final : public Transport, public FrameSink {
 public:
  SpyTransport(Transport& below, ProcessId process, Watch& watch, std::shared_ptr<Arrivals> arrivals)
      : below_(below), process_(process), watch_(watch), arrivals_(std::move(arrivals)) {}

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

  bool supports_borrowing() const override { return below_.supports_borrowing(); }
  bool stands(BorrowedBuffer borrow) const override {
    if (below_.stands(borrow)) return true;
    watch_.revoked(process_, borrows_.at(borrow.number));
    return false;
  }
  void give_back(BorrowedBuffer borrow) override {
    borrows_.erase(borrow.number);
    below_.give_back(borrow);
  }

  // What is spoiled on its way is not borrowed.
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload,
                        BorrowedBuffer borrow) override {
    const Arrivals::Of& of = arrivals_->of[frame.from];
    if (of.flips || of.twice || arrivals_->twice) return false;
    borrows_[borrow.number] = frame;
    if (!sink_->arrived_in_place(frame, payload, borrow)) {
      borrows_.erase(borrow.number);
      return false;
    }
    watch_.arrived_in_place(process_, frame);
    return true;
  }
  std::span<std::byte> place(const Frame& frame) override {
    const bool greeting = frame.kind == FrameKind::header && frame.round == 0;
    const bool readable = is_readable(frame);
    const auto place =
        !readable || (greeting && arrivals_->deaf) ? std::span<std::byte>() : sink_->place(frame);
    watch_.placed(process_, frame, place);
    return place;
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    if (payload.empty() && !is_readable(frame)) return;
    flip(frame, payload);
    const bool twice = arrivals_->twice || arrivals_->of[frame.from].twice;
    const std::vector<std::byte> again(payload.begin(), twice ? payload.end() : payload.begin());
    watch_.taken(process_, frame, payload);
    sink_->arrived(frame, payload);
    if (twice) arrived_again(frame, again);
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
  static constexpr std::uint64_t kHeaderBits = 8 * sizeof(Frame);

  static bool is_checked(const Frame& frame) {
    return frame.kind == FrameKind::header || frame.kind == FrameKind::metrics;
  }

  // As transports read it. False: it is lost, and the connection ends.
  bool is_readable(const Frame& frame) {
    auto& bit = arrivals_->of[frame.from].flips;
    if (!bit || (is_checked(frame) && *bit >= kHeaderBits)) return true;
    Frame damaged = checked(frame);
    const std::uint64_t at = *std::exchange(bit, std::nullopt) % kHeaderBits;
    reinterpret_cast<std::uint8_t*>(&damaged)[at / 8] ^= static_cast<std::uint8_t>(1u << at % 8);
    std::string why;
    if (const auto read = decode_frame(std::as_bytes(std::span(&damaged, 1)), why)) {
      watch_.mistake("a frame with a flipped bit was read");
      return true;
    }
    sink_->refused(why);
    arrivals_->breaks(frame.from);
    return false;
  }

  void flip(const Frame& frame, std::span<std::byte> payload) {
    auto& bit = arrivals_->of[frame.from].flips;
    if (!bit || payload.empty() || !is_checked(frame) || *bit < kHeaderBits) return;
    const std::uint64_t at = (*std::exchange(bit, std::nullopt) - kHeaderBits) % (8 * payload.size());
    payload[at / 8] ^= std::byte(1u << at % 8);
  }

  void arrived_again(const Frame& frame, std::span<const std::byte> bytes) {
    const auto place = bytes.empty() ? std::span<std::byte>() : this->place(frame);
    if (place.size() != bytes.size()) return;
    std::copy(bytes.begin(), bytes.end(), place.begin());
    watch_.taken(process_, frame, place);
    sink_->arrived(frame, place);
  }

  Transport& below_;
  ProcessId process_;
  Watch& watch_;
  std::shared_ptr<Arrivals> arrivals_;
  FrameSink* sink_ = nullptr;
  std::map<std::uint64_t, Frame> borrows_;
  std::map<SendToken, SendToken> tokens_;  // the engine's, by a number of its own for each send
  SendToken sends_ = 0;
};

}  // namespace muster::simulation
