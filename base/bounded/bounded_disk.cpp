#include "base/bounded/bounded_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <functional>
#include <utility>

#include "base/bounded/bounded_calls.hpp"

namespace muster {

namespace {

// Nothing is lost with a call that has not returned: a change is made later, or not at all, as in a crash.
constexpr std::chrono::milliseconds kPartingMax{500};

class BoundedDisk final : public Disk {
 public:
  BoundedDisk(std::shared_ptr<Disk> disk, std::chrono::milliseconds most)
      : disk_(std::move(disk)), most_(most) {}

  std::string folder() const override { return disk_->folder(); }
  std::uint64_t writer() const override { return disk_->writer(); }

  std::vector<File> list() override {
    return ask<std::vector<File>>([](Disk& disk) { return disk.list(); });
  }
  Bytes read(const std::string& name) override {
    return ask<Bytes>([name](Disk& disk) { return disk.read(name); });
  }
  void write(const std::string& name, Pieces pieces) override {
    std::vector<Bytes> own;  // the caller's may be gone before the disk answers
    for (const auto piece : pieces) own.emplace_back(piece.begin(), piece.end());
    change([name, own = std::move(own)](Disk& disk) {
      const std::vector<std::span<const std::byte>> spans(own.begin(), own.end());
      disk.write(name, spans);
    });
  }
  void rename(const std::string& from, const std::string& to) override {
    change([from, to](Disk& disk) { disk.rename(from, to); });
  }
  void remove(const std::string& name) override {
    change([name](Disk& disk) { disk.remove(name); });
  }
  void sync_folder() override {
    change([](Disk& disk) { disk.sync_folder(); });
  }
  void keep_private() override {
    change([](Disk& disk) { disk.keep_private(); });
  }
  std::optional<std::uint64_t> room() override {
    try {
      return ask<std::optional<std::uint64_t>>([](Disk& disk) { return disk.room(); });
    } catch (const DiskError&) {
      return std::nullopt;
    }
  }

 private:
  template <class Answer>
  Answer ask(std::function<Answer(Disk&)> question) {
    struct Answered {
      Answer answer{};
      std::exception_ptr refusal;
    };
    const auto answered = std::make_shared<Answered>();
    const auto outcome = calls_.make(
        [disk = disk_, question = std::move(question), answered] {
          try {
            answered->answer = question(*disk);
          } catch (...) {
            answered->refusal = std::current_exception();
          }
        },
        most_);
    if (outcome != BoundedCalls::Outcome::returned) not_answered();
    if (answered->refusal) std::rethrow_exception(answered->refusal);
    return std::move(answered->answer);
  }

  void change(std::function<void(Disk&)> change) {
    ask<bool>([change = std::move(change)](Disk& disk) {
      change(disk);
      return true;
    });
  }

  [[noreturn]] void not_answered() const {
    throw DiskError(ETIMEDOUT, "the disk of " + disk_->folder() + " has not answered for " +
                                   std::to_string(std::max(calls_.not_returned_for(), most_).count()) +
                                   " ms");
  }

  const std::shared_ptr<Disk> disk_;
  const std::chrono::milliseconds most_;
  BoundedCalls calls_{kPartingMax};
};

}  // namespace

std::shared_ptr<Disk> bounded_disk(std::shared_ptr<Disk> disk, std::chrono::milliseconds most) {
  return std::make_shared<BoundedDisk>(std::move(disk), most);
}

}  // namespace muster
