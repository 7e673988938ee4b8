// One error type for what can go wrong in operation. Its advice says what the caller should do next.
// A broken invariant is not an Error: it is a bug, and ends the process at once.
//
//   #include "muster/error.hpp"
//
//   void open(const std::string& folder) {
//     if (folder.empty()) throw muster::JobError("data.folder", "is empty; give the folder of the images");
//   }
//   std::string what_to_do(const muster::Error& error) {
//     return error.advice() == muster::Advice::retry ? "try again" : error.what();
//   }
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace muster {

/// What the caller of a failed call should do next.
enum class Advice {
  retry,       ///< transient; the same call may succeed later
  give_up,     ///< this run cannot go on; the message says why
  fix_job,     ///< the job file, the command line or the data must change; the message says what
  report_bug,  ///< should not happen; please report it with the message
};

/// An operating error, thrown; never crosses a thread or an actor as an exception, only as an event or a
/// message.
class Error : public std::runtime_error {
 public:
  /// `what`: what was found, where, what is allowed, and the fix; one sentence for people.
  Error(Advice advice, const std::string& what) : std::runtime_error(what), advice_(advice) {}
  /// What to do next.
  Advice advice() const noexcept { return advice_; }

 private:
  Advice advice_;
};

/// An error that belongs to one key of the job ("data.train_images"), so that it can be shown with its place
/// in the file.
class JobError : public Error {
 public:
  /// `key`: its full path in the job. `what`: as of Error, without the key. The advice is `fix_job`.
  JobError(std::string key, const std::string& what) : Error(Advice::fix_job, what), key_(std::move(key)) {}
  /// Full path of the key in the job: "data.train_images".
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};

/// There is no checkpoint that this job can go on from; says what was passed over, and why.
class NothingToResume : public Error {
 public:
  /// `what`: which checkpoints were passed over, and why. The advice is `fix_job`.
  explicit NothingToResume(const std::string& what) : Error(Advice::fix_job, what) {}
};

}  // namespace muster
