// Records of rounds, made anew in the memory of those that nobody holds any more.
#pragma once

#include <memory>

#include "transport/collective/rounds/round.hpp"

namespace muster {

class RoundRecordPool {
 public:
  RoundRecordPool();

  /// An empty record, whose lists have the room of one that was given back. It comes back when its last
  /// holder lets go of it, on any thread, also after the pool has ended.
  std::shared_ptr<RoundRecord> take();

 private:
  struct Memory;
  struct GiveBack;
  template <class T>
  struct Allocator;

  std::shared_ptr<Memory> memory_;
};

}  // namespace muster
