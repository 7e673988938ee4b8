// A transport that offers what others contribute as borrowed buffers, as between processes of one host. A
// chosen buffer is revoked, and its memory changed, before it is read: its owner was evicted, and woke.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace muster::testing {

class BorrowingTransport final : public Transport, public FrameSink {
 public:
  static constexpr std::uint64_t kOwner = 7;

  /// `revokes`: the number of the borrowed buffer, from 1; 0: none.
  BorrowingTransport(std::unique_ptr<Transport> below, std::uint64_t revokes)
      : below_(std::move(below)), revokes_(revokes) {}

  /// The one that is revoked was taken.
  bool took_revoked() const { return took_revoked_; }
  std::size_t not_given_back() const { return borrows_.size(); }

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
  bool supports_borrowing() const override { return true; }
  bool stands(BorrowedBuffer borrow) const override { return borrow.number != revokes_; }
  void give_back(BorrowedBuffer borrow) override {
    EXPECT_EQ(borrow.owner, kOwner);
    EXPECT_EQ(borrows_.erase(borrow.number), 1u) << "given back twice";
  }

  std::span<std::byte> place(const Frame& frame) override {
    if (frame.kind != FrameKind::contribution) return sink_->place(frame);
    return arriving_.emplace_back(frame.bytes);
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    const auto held = std::ranges::find_if(
        arriving_, [&](const auto& bytes) { return bytes.data() == payload.data() && !bytes.empty(); });
    if (held == arriving_.end()) return sink_->arrived(frame, payload);
    const std::vector<std::byte> sent = std::move(*held);
    arriving_.erase(held);
    const BorrowedBuffer borrow{kOwner, ++number_};
    auto& memory = borrows_[borrow.number] = sent;
    if (!stands(borrow)) std::ranges::fill(memory, std::byte{0x3f});
    if (sink_->arrived_in_place(frame, memory, borrow)) {
      took_revoked_ |= !stands(borrow);
      return;
    }
    borrows_.erase(borrow.number);
    const auto where = sink_->place(frame);
    if (where.size() != sent.size()) return;
    std::ranges::copy(sent, where.begin());
    sink_->arrived(frame, where);
  }
  void dropped(const Frame& frame) override {
    if (frame.kind != FrameKind::contribution) sink_->dropped(frame);
  }
  void abandoned(const Frame& frame) override {
    if (frame.kind != FrameKind::contribution) sink_->abandoned(frame);
  }
  void sent(PeerId to, SendToken token, bool ok) override { sink_->sent(to, token, ok); }
  void peer_failed(PeerId peer, const std::string& reason) override { sink_->peer_failed(peer, reason); }
  void refused(const std::string& reason) override { sink_->refused(reason); }

 private:
  std::unique_ptr<Transport> below_;
  const std::uint64_t revokes_;
  FrameSink* sink_ = nullptr;
  std::list<std::vector<std::byte>> arriving_;
  std::map<std::uint64_t, std::vector<std::byte>> borrows_;
  std::uint64_t number_ = 0;
  bool took_revoked_ = false;
};

}  // namespace muster::testing
