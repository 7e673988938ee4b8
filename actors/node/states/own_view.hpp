// The view that a node takes part in, and whether it is one of its members, as far as it has been told. Pure.
// For one thread at a time.
#pragma once

#include <cstdint>

#include "actors/messages/view.hpp"

namespace muster {

class OwnView {
 public:
  const View& view() const { return view_; }
  std::uint32_t number() const { return view_.number; }
  bool is(std::uint32_t number) const { return view_.number == number; }

  /// Of the view in force, or of one that was made and that it has not been told of: then it waits for a
  /// coordinator that is gone.
  bool may_be_member() const { return may_be_member_; }
  /// The view is in force, and no coordinator has closed it.
  bool begun() const { return begun_; }
  /// A view that holds this node was in force, or it came later.
  bool run_has_begun() const { return run_has_begun_; }

  /// It may be in the first view, and not have been told of it.
  void may_be_taken_in(bool may_be) { may_be_member_ = may_be; }
  void enters(const View& view) {
    view_ = view;
    may_be_member_ = true;
    begun_ = false;
  }
  /// It takes part from outside, until a view comes that holds it.
  void observes(const View& view) {
    view_ = view;
    run_has_begun_ = true;
  }
  void begins(std::uint32_t number) {
    if (is(number)) begun_ = run_has_begun_ = true;
  }
  /// A newcomer that is to close a view is meant for the next.
  void closes(std::uint32_t number) {
    may_be_member_ = true;
    if (is(number)) begun_ = false;  // no coordinator may go on with it
  }

 private:
  View view_;
  bool may_be_member_ = false, begun_ = false, run_has_begun_ = false;
};

}  // namespace muster
