// One error type for what can go wrong in operation. Its text says what was found, and what to do.
// A broken invariant is not an Error: it is a bug, and ends the process at once.
//
//   #include "muster/error.hpp"
//
//   void open(const std::string& folder) {
//     if (folder.empty()) throw muster::JobError("data.folder", "is empty; give the folder of the images");
//   }
//   std::string shown(const muster::Error& error) {
//     const auto* const of_job = dynamic_cast<const muster::JobError*>(&error);
//     return of_job ? of_job->key() + ": " + error.what() : error.what();
//   }
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace muster {

/// An operating error, thrown; never crosses a thread or an actor as an exception, only as an event or a
/// message.
class Error : public std::runtime_error {
 public:
  /// `what`: what was found, where, what is allowed, and the fix; one sentence for people.
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

/// An error that belongs to one key of the job ("data.train_images"), so that it can be shown with its place
/// in the file.
class JobError : public Error {
 public:
  /// `key`: its full path in the job. `what`: as of Error, without the key.
  JobError(std::string key, const std::string& what) : Error(what), key_(std::move(key)) {}
  /// Full path of the key in the job: "data.train_images".
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};

/// There is no checkpoint that this job can go on from; says what was passed over, and why.
class NothingToResume : public Error {
 public:
  /// `what`: which checkpoints were passed over, and why.
  explicit NothingToResume(const std::string& what) : Error(what) {}
};

}  // namespace muster
