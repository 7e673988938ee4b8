// Answers of a disk that came when nobody waited for them any more, for those who ask the same again. Pure.
// For one thread at a time.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <string>

namespace muster {

/// What a disk said: a value, or an exception.
struct LateAnswer {
  using Time = std::chrono::steady_clock::time_point;

  bool is_of_change = false;
  Time asked{}, came{};
  std::any value = {};
  std::exception_ptr refusal = nullptr;
};

class LateAnswers {
 public:
  using Time = LateAnswer::Time;

  static constexpr std::size_t kMax = 16;
  /// So long an answer waits for whoever asks again. Whoever was refused tries again within 10 s
  /// (kDiskAgainMax).
  static constexpr std::chrono::seconds kKept{15};
  /// What was read may be as old as its question: an older one counts no more.
  static constexpr std::chrono::seconds kReadAgeMax{60};

  /// `what`: the question, with all of its arguments. The oldest answers make room.
  void keep(const std::string& what, LateAnswer answer);
  /// The answer to this question; nothing: there is none. A value stays, for a procedure may ask several
  /// questions, and begins with the first one each time. A refusal goes: the next time the disk is asked.
  std::optional<LateAnswer> to(const std::string& what, Time now);
  /// The disk is changed: what was read, or changed before, may be so no more.
  void forget() { answers_.clear(); }

 private:
  static bool is_over(const LateAnswer& answer, Time now);

  std::map<std::string, LateAnswer> answers_;
};

}  // namespace muster
