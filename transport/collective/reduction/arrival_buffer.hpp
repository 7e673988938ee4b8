// The buffer for what one member sends in each round, where a round may end without it: what still arrives
// then keeps its memory until it has come, and the next round gets other memory.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <utility>
#include <vector>

namespace muster {

class ArrivalBuffer {
 public:
  /// For what has begun to arrive. Stays where it is until `ended` is called with it, or the buffer goes.
  std::span<std::byte> place(std::size_t size) {
    if (arriving_) late_.push_back(std::exchange(bytes_, {}));
    bytes_.resize(size);
    arriving_ = size > 0;
    return bytes_;
  }

  /// It has come, whether anybody still needs it or not. What is of an earlier round is freed.
  void ended(const std::byte* place) {
    if (place == bytes_.data())
      arriving_ = false;
    else
      std::erase_if(late_, [place](const auto& each) { return each.data() == place; });
  }

  /// Of the last one, or for what this member sends itself.
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  bool arriving_ = false;
  std::list<std::vector<std::byte>> late_;
};

}  // namespace muster
