// A receiver as a member is one: it takes what it asked for, one payload at a time, and counts it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "transport/transport.hpp"

namespace muster::fuzz {

class PlacingSink : public FrameSink {
 public:
  /// Payloads of view 1, and those of more than `bytes_max`, it did not ask for.
  explicit PlacingSink(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::span<std::byte> place(const Frame& frame) override {
    if (frame.view == 1 || frame.bytes > bytes_max_) return {};
    MUSTER_CHECK(place_.empty());
    place_.resize(frame.bytes);
    return place_;
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    MUSTER_CHECK(payload.size() == frame.bytes, payload.size(), frame.bytes);
    if (!payload.empty()) place_.clear();
    ++accepted;
  }
  void dropped(const Frame& frame) override {
    MUSTER_CHECK(place_.size() == frame.bytes);
    place_.clear();
  }
  void sent(PeerId, SendToken, bool) override { MUSTER_CHECK(false, "nothing was sent"); }
  void peer_failed(PeerId, const std::string&) override { MUSTER_CHECK(false, "nobody was connected"); }
  void refused(const std::string& why) override { MUSTER_CHECK(!why.empty()); }
  bool holds_a_place() const { return !place_.empty(); }

  std::size_t accepted = 0;

 private:
  const std::size_t bytes_max_;
  std::vector<std::byte> place_;
};

}  // namespace muster::fuzz
