#include "actors/rules/membership/local_errors.hpp"

namespace muster {

LocalErrors::Verdict LocalErrors::judge(const Failing& failing, bool others_left) {
  const bool placed = failing.at.known();
  const std::string who = name_of_(failing.name);
  const auto before = placed ? failed_at_.find(failing.at) : failed_at_.end();
  if (before != failed_at_.end() && before->second != failing.name) {
    return {true, true,
            "two nodes have failed at " + failing.at.text() + ", " + name_of_(before->second) + " and then " +
                who + ": " + failing.reason};
  }
  if (!others_left) {
    return {true, placed,
            who + ": " + failing.reason + "; no other " + (failing.name.loader ? "loader" : "replica") +
                " is left"};
  }
  if (placed && failed_at_.size() >= kPlacesMax) failed_at_.erase(failed_at_.begin());
  if (placed) failed_at_.emplace(failing.at, failing.name);
  return {};
}

}  // namespace muster
