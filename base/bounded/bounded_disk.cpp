#include "base/bounded/bounded_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/bounded/bounded_calls.hpp"
#include "base/bounded/late_answers.hpp"

namespace muster {

namespace {

// No two questions have the same.
template <class... Arguments>
std::string question(const char* operation, const Arguments&... arguments) {
  std::string what = operation;
  ((what += '\0', what += std::to_string(arguments.size()), what += ' ', what += arguments), ...);
  return what;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class BoundedDisk final : public Disk {
 public:
  BoundedDisk(std::shared_ptr<Disk> disk, const DiskWaits& waits) : disk_(std::move(disk)), waits_(waits) {}

  std::string folder() const override { return disk_->folder(); }
  std::uint64_t writer() const override { return disk_->writer(); }

  std::vector<File> list() override {
    return read_as_one(*this, question("list"), [](Disk& disk) { return disk.list(); });
  }
  Bytes read(const std::string& name) override {
    return read_as_one(*this, question("read", name), [name](Disk& disk) { return disk.read(name); });
  }
  void write(const std::string& name, Pieces pieces) override {
    std::string content;  // the caller's may be gone before the disk answers
    for (const auto piece : pieces) content += text_of(piece);
    change_as_one(*this, question("write", name, content), [name, content](Disk& disk) {
      const auto piece = std::as_bytes(std::span(content));
      disk.write(name, std::span(&piece, 1));
    });
  }
  void rename(const std::string& from, const std::string& to) override {
    change_as_one(*this, question("rename", from, to), [from, to](Disk& disk) { disk.rename(from, to); });
  }
  void remove(const std::string& name) override {
    change_as_one(*this, question("remove", name), [name](Disk& disk) { disk.remove(name); });
  }
  void sync_folder() override {
    change_as_one(*this, question("sync_folder"), [](Disk& disk) { disk.sync_folder(); });
  }
  void keep_private() override {
    change_as_one(*this, question("keep_private"), [](Disk& disk) { disk.keep_private(); });
  }
  std::optional<std::uint64_t> room() override {
    try {
      return read_as_one(*this, question("room"), [](Disk& disk) { return disk.room(); });
    } catch (const DiskError&) {
      return std::nullopt;
    }
  }

  std::any as_one(Does does, const std::string& what, const Calls& calls) override {
    const auto now = Clock::now();
    hear_late_answer();
    if (const auto late = late_.to(what, now)) return value_of(*late);
    if (!calls_.idle()) not_answered();
    if (does == Does::changes) late_.forget();
    const auto answer = std::make_shared<LateAnswer>(LateAnswer{does == Does::changes, now});
    const auto call = [disk = disk_, calls, answer] {
      try {
        answer->value = calls(*disk);
      } catch (...) {
        answer->refusal = std::current_exception();
      }
      answer->came = Clock::now();
    };
    under_way_ = {what, answer};
    const auto most = std::exchange(has_begun_, true) ? waits_.answer : waits_.first;
    if (calls_.make(call, most) != BoundedCalls::Outcome::returned) not_answered();
    // One that was waited for so long is not to be waited for again.
    if (answer->came - now > waits_.answer && !answer->refusal) late_.keep(what, *answer);
    under_way_.reset();
    return value_of(*answer);
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct UnderWay {
    std::string what;
    std::shared_ptr<LateAnswer> answer;  // the other thread's, as long as it has not returned
  };

  static std::any value_of(const LateAnswer& answer) {
    if (answer.refusal) std::rethrow_exception(answer.refusal);
    return answer.value;
  }

  void hear_late_answer() {
    if (!under_way_ || !calls_.idle()) return;
    late_.keep(under_way_->what, std::move(*under_way_->answer));
    under_way_.reset();
  }

  [[noreturn]] void not_answered() const {
    throw DiskError(ETIMEDOUT,
                    "the disk of " + disk_->folder() + " has not answered for " +
                        std::to_string(std::max(calls_.not_returned_for(), waits_.answer).count()) + " ms");
  }

  const std::shared_ptr<Disk> disk_;
  const DiskWaits waits_;
  bool has_begun_ = false;
  std::optional<UnderWay> under_way_;
  LateAnswers late_;
  BoundedCalls calls_{waits_.parting};
};

}  // namespace

std::shared_ptr<Disk> bounded_disk(std::shared_ptr<Disk> disk, const DiskWaits& waits) {
  return std::make_shared<BoundedDisk>(std::move(disk), waits);
}

}  // namespace muster
