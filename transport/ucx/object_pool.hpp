// Records with a fixed address that are taken and given back without allocation once the pool has grown to
// its peak.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace muster::ucx {

/// One thread. Records are not reset between uses.
template <class Record>
class ObjectPool {
 public:
  Record& take() {
    if (free_.empty()) grow();
    Record* record = free_.back();
    free_.pop_back();
    ++taken_;
    return *record;
  }

  void give_back(Record& record) {
    free_.push_back(&record);
    --taken_;
  }

  std::size_t taken() const { return taken_; }

  /// Also those that are not taken.
  template <class Act>
  void for_each(Act&& act) {
    for (auto& block : blocks_) {
      for (Record& record : *block) act(record);
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;

  void grow() {
    blocks_.push_back(std::make_unique<std::array<Record, kBlock>>());
    free_.reserve(blocks_.size() * kBlock);
    for (Record& record : *blocks_.back()) free_.push_back(&record);
  }

  std::vector<std::unique_ptr<std::array<Record, kBlock>>> blocks_;
  std::vector<Record*> free_;
  std::size_t taken_ = 0;
};

}  // namespace muster::ucx
