// The term of a coordinator, and whether its journal says so: each one that is started takes a higher term
// than those before it, and writes it down before anybody is listened to. Two that were started with one
// journal have the same term: Journal::write tells them apart by their writer. Pure. For one thread at a
// time.
#pragma once

#include <cstdint>

namespace muster {

class CoordinatorTerm {
 public:
  std::uint64_t number() const { return number_; }
  /// A number by chance: which coordinator wrote an entry of the journal.
  std::uint64_t writer() const { return writer_; }
  void set_writer(std::uint64_t writer) { writer_ = writer; }

  /// The coordinator before this one had this term.
  void follow(std::uint64_t before) { number_ = before + 1; }
  /// A member has heard of this term: this one is higher, and the journal is to say so.
  void rise_above(std::uint64_t heard);

  /// The journal lacks this term, or what a member told.
  void journal_lacks_it() { journal_is_behind_ = true; }
  bool journal_is_behind() const { return journal_is_behind_; }
  /// The journal has this term and all that is known.
  void noted() { journal_is_behind_ = false; }

  /// Another coordinator has the journal: this one decides nothing any more.
  void take_over() { taken_over_ = true; }
  bool taken_over() const { return taken_over_; }

 private:
  std::uint64_t number_ = 1;
  std::uint64_t writer_ = 0;
  bool journal_is_behind_ = false;
  bool taken_over_ = false;
};

}  // namespace muster
