// The folder of checkpoints for a coordinator that does not wait for a disk (base/bounded/bounded_disk.hpp):
// while its disk is slow, it is refused at once, and what it asks for is done later, in virtual time.
#pragma once

#include <cerrno>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bounded/late_answers.hpp"
#include "base/disk.hpp"
#include "tests/simulation/world.hpp"

namespace muster::simulation {

class SlowFolder final : public Disk {
 public:
  /// `takes`: how long each call does; 0: it is answered at once. `alive`: whether the process that asks is;
  /// what it asked for is not done behind its end.
  SlowFolder(World& world, std::shared_ptr<Disk> disk, std::shared_ptr<const Nanoseconds> takes,
             std::function<bool()> alive)
      : world_(world), disk_(std::move(disk)), takes_(std::move(takes)), alive_(std::move(alive)) {}

  std::string folder() const override { return disk_->folder(); }
  std::uint64_t writer() const override { return disk_->writer(); }
  // The coordinator makes all calls by as_one.
  std::vector<File> list() override { refuse(); }
  Bytes read(const std::string&) override { refuse(); }
  void write(const std::string&, Pieces) override { refuse(); }
  void rename(const std::string&, const std::string&) override { refuse(); }
  void remove(const std::string&) override { refuse(); }
  void sync_folder() override { refuse(); }

  std::any as_one(Does does, const std::string& what, const Calls& calls) override {
    if (const auto late = late_->to(what, now())) {
      if (late->refusal) std::rethrow_exception(late->refusal);
      return late->value;
    }
    if (*under_way_) refuse();
    if (does == Does::changes) late_->forget();
    if (*takes_ == Nanoseconds(0)) return calls(*disk_);
    *under_way_ = true;
    world_.after(*takes_,
                 [&world = world_, disk = disk_, late = late_, under_way = under_way_, alive = alive_, what,
                  calls, answer = LateAnswer{does == Does::changes, now()}]() mutable {
                   *under_way = false;
                   if (!alive()) return;
                   try {
                     answer.value = calls(*disk);
                   } catch (...) {
                     answer.refusal = std::current_exception();
                   }
                   answer.came = LateAnswer::Time(world.now());
                   late->keep(what, std::move(answer));
                 });
    refuse();
  }

 private:
  LateAnswer::Time now() const { return LateAnswer::Time(world_.now()); }
  [[noreturn]] void refuse() const { throw DiskError(ETIMEDOUT, "the disk has not answered"); }

  World& world_;
  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<const Nanoseconds> takes_;
  const std::function<bool()> alive_;
  const std::shared_ptr<LateAnswers> late_ = std::make_shared<LateAnswers>();
  const std::shared_ptr<bool> under_way_ = std::make_shared<bool>(false);
};

}  // namespace muster::simulation
