// A disk that makes every call, and answers none in time.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bounded/bounded_disk.hpp"
#include "tests/support/gated_disk.hpp"

namespace muster::testing {

/// A bounded disk whose other thread stands at a gate as long as somebody waits for it.
class SlowDisk final : public Disk {
 public:
  explicit SlowDisk(std::shared_ptr<Disk> disk)
      : bounded_(bounded_disk(std::make_shared<GatedDisk>(std::move(disk), gate_),
                              {std::chrono::milliseconds(0), std::chrono::milliseconds(0)})) {}

  std::string folder() const override { return bounded_->folder(); }
  std::uint64_t writer() const override { return bounded_->writer(); }
  std::vector<File> list() override {
    return asks([](Disk& disk) { return disk.list(); });
  }
  Bytes read(const std::string& name) override {
    return asks([&](Disk& disk) { return disk.read(name); });
  }
  void write(const std::string& name, Pieces pieces) override {
    asks([&](Disk& disk) { disk.write(name, pieces); });
  }
  void rename(const std::string& from, const std::string& to) override {
    asks([&](Disk& disk) { disk.rename(from, to); });
  }
  void remove(const std::string& name) override {
    asks([&](Disk& disk) { disk.remove(name); });
  }
  void sync_folder() override {
    asks([](Disk& disk) { disk.sync_folder(); });
  }
  std::any as_one(Does does, const std::string& what, const Calls& calls) override {
    return asks([&](Disk& disk) { return disk.as_one(does, what, calls); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call, Disk&> asks(Call call) {
    struct Closed {
      explicit Closed(Gate& its_gate) : gate(its_gate) { gate.close(); }
      ~Closed() { gate.open(); }
      Gate& gate;
    } closed(*gate_);
    return call(*bounded_);
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  const std::shared_ptr<Disk> bounded_;
};

inline std::shared_ptr<Disk> slow_disk(std::shared_ptr<Disk> disk) {
  return std::make_shared<SlowDisk>(std::move(disk));
}

/// Tries again, as the coordinator does at its ticks, until `try_it` returns true. Fails the test if it does
/// not in half a minute.
template <class Try>
void try_again_until(Try try_it) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30); !try_it();) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "it is never so";
    std::this_thread::yield();
  }
}

/// The same until the disk has answered this call. What else it says is thrown.
template <class Call>
void until_answered(Call call) {
  try_again_until([&] {
    try {
      call();
    } catch (const DiskError& error) {
      if (error.code() != ETIMEDOUT) throw;
      return false;
    }
    return true;
  });
}

}  // namespace muster::testing
