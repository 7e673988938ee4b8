// What a contract check finds, and what it has looked at.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// One promise of muster/model.hpp or muster/source.hpp that a user's code does not keep.
struct Breach {
  std::string key;     ///< of the job whose value names the code: "model.name", "data.source"
  std::string check;   ///< as docs/guides/contract.md lists it: "a gradient is a sum"
  std::string found;   ///< the call, the tensor or field, and the numbers
  std::string likely;  ///< the usual mistake and its fix; may be empty
};

/// One sentence for people: check, found, likely.
std::string text_of(const Breach& breach);

/// The checks of one run of them, and the time that is left for more. One thread.
class ContractLog {
 public:
  using Clock = std::chrono::steady_clock;
  struct LeftOut {
    std::string check;
    std::string why;
  };

  /// No check begins once `budget` is over.
  explicit ContractLog(std::chrono::milliseconds budget, std::function<Clock::time_point()> now = Clock::now);

  /// Whether there is time for this check. If not, it is noted as left out.
  bool begin(const std::string& check);
  /// One that was done along with another.
  void note(const std::string& check) { done_.push_back(check); }
  void leave_out(const std::string& check, const std::string& why);
  /// One that began last, and could not be done: it is not among those that were done.
  void give_up(const std::string& check, const std::string& why);
  bool time_is_over() const;

  const std::vector<std::string>& done() const { return done_; }
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  std::chrono::milliseconds took() const;

 private:
  std::function<Clock::time_point()> now_;
  Clock::time_point began_;
  std::chrono::milliseconds budget_;
  std::vector<std::string> done_;
  std::vector<LeftOut> left_out_;
};

}  // namespace muster
