// A newcomer, or a member that was left behind, is given records and states, in pieces: each goes straight to
// its place in memory for the whole, and is checked there. The other end is transfer_sender.hpp.
//
// Bounds: at most kTransfersMax transfers are on their way here at once, each as large as was agreed; memory
// for one is taken when its first piece comes. The last kWholeMax that were whole are remembered: a piece of
// one of these that comes again begins no new one.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/collective/transfer/transfer_payload.hpp"

namespace muster {

class Intake {
 public:
  /// Each piece that is on its way may be of another one, and one more may stand half way.
  static constexpr std::size_t kTransfersMax = 16;
  static constexpr std::size_t kWholeMax = 64;

  explicit Intake(std::size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  struct Place {
    std::span<std::byte> bytes;  ///< empty: it is not taken
    bool had = false;            ///< because it is here already
    std::string wrong;           ///< because it cannot be: why
  };
  /// Where a piece goes, of a transfer of at most so many bytes.
  Place place(const Frame& frame, std::uint64_t transfer_bytes_max);

  struct Taken {
    bool known = false;                           ///< it lies where `place` said, and is still wanted
    std::string wrong;                            ///< but it is not what was sent
    std::optional<std::vector<std::byte>> whole;  ///< it was the last one
  };
  /// A placed piece is here.
  Taken arrived(const Frame& frame, std::span<const std::byte> bytes);
  /// A placed piece will not come; `abandoned`: but its place may still be written to.
  void dropped(const Frame& frame, bool abandoned);
  /// All that is not whole is of no use any more.
  void forget();

 private:
  enum class Stage : std::uint8_t { missing, arriving, here };
  struct Incoming {
    Frame first;  // names it: sender, kind, number
    std::vector<std::byte> bytes;
    const std::byte* begin = nullptr;  // of them, wherever they are kept
    std::vector<Stage> pieces;
    std::size_t missing = 0;  // or arriving
    std::size_t arriving = 0;
    bool wanted = true;
  };

  std::list<Incoming>::iterator find(const Frame& frame, Stage stage);
  void let_go(std::list<Incoming>::iterator transfer);
  void was_whole(const Frame& first);

  std::size_t piece_bytes_;
  std::list<Incoming> incoming_;
  std::deque<Frame> whole_;  // any piece of each
};

}  // namespace muster
