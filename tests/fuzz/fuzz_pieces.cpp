// Pieces of what a newcomer is given (transport/collective/transfer/intake.hpp): placed, arrived, dropped and
// forgotten in any order, of any size, whole or damaged. Each act is a byte, and what it needs behind it.
#include "tests/fuzz/fuzz.hpp"
#include "transport/collective/transfer/intake.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kPieceBytes = 16;
constexpr std::uint64_t kTransferBytesMax = 100;

enum Act : std::uint8_t { place, arrive, damage, drop, forget, kActs };

struct Coming {
  Frame frame;
  std::span<std::byte> place;
};

// What a transfer is made of.
std::byte value(const Frame& frame, std::size_t at) {
  return static_cast<std::byte>(PieceBody::from(frame).number * 31 + at * 7);
}

Frame frame_from(Choices& choices) {
  PieceBody piece;
  piece.of = choices.below(2) == 0 ? FrameKind::record : FrameKind::state;
  piece.number = choices.below(3);
  piece.first_byte = choices.number<std::uint8_t>();
  piece.bytes = choices.number<std::uint8_t>();
  piece.whole_bytes = choices.number<std::uint8_t>();
  return frame_with(piece);
}

void fill(Coming& coming) {
  auto piece = PieceBody::from(coming.frame);
  for (std::size_t i = 0; i < coming.place.size(); ++i)
    coming.place[i] = value(coming.frame, piece.first_byte + i);
  piece.check = piece_check(coming.place);
  piece.put_into(coming.frame);
}

bool apart(std::span<std::byte> a, std::span<std::byte> b) {
  return a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
}

void put(Intake& intake, std::vector<Coming>& coming, Choices& choices) {
  const Frame frame = frame_from(choices);
  const Intake::Place found = intake.place(frame, kTransferBytesMax);
  if (found.bytes.empty()) return;
  MUSTER_CHECK(found.wrong.empty() && !found.had, found.wrong);
  const auto piece = PieceBody::from(frame);
  MUSTER_CHECK(found.bytes.size() == piece.bytes && piece.whole_bytes <= kTransferBytesMax, piece.bytes,
               piece.whole_bytes);
  for (const Coming& other : coming) MUSTER_CHECK(apart(other.place, found.bytes), piece.first_byte);
  coming.push_back({frame, found.bytes});
}

bool ends(Intake& intake, Coming one, bool damaged) {
  fill(one);
  if (damaged) one.place[0] ^= std::byte{1};
  const Intake::Taken taken = intake.arrived(one.frame, one.place);
  MUSTER_CHECK(taken.known || !taken.whole);
  MUSTER_CHECK(!taken.known || damaged != taken.wrong.empty(), taken.wrong);
  if (!taken.whole) return false;
  MUSTER_CHECK(taken.whole->size() == PieceBody::from(one.frame).whole_bytes, taken.whole->size());
  for (std::size_t i = 0; i < taken.whole->size(); ++i)
    MUSTER_CHECK((*taken.whole)[i] == value(one.frame, i), i);
  return true;
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  Intake intake(kPieceBytes);
  std::vector<Coming> coming;
  bool whole = false;
  while (!choices.empty()) {
    const auto act = static_cast<Act>(choices.below(kActs));
    if (act == place) {
      put(intake, coming, choices);
    } else if (act == forget) {
      intake.forget();
    } else if (!coming.empty()) {
      const auto which = coming.begin() + choices.below(static_cast<std::uint32_t>(coming.size()));
      const Coming one = *which;
      coming.erase(which);
      if (act == arrive || act == damage) {
        whole |= ends(intake, one, act == damage);
      } else {
        intake.dropped(one.frame, false);
      }
    }
  }
  return whole;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const std::uint8_t size : {1, 16, 17, 64, 100}) {
    Bytes bytes;
    const auto add = [&](std::initializer_list<std::uint8_t> values) {
      for (const std::uint8_t one : values) bytes.push_back(std::byte{one});
    };
    for (unsigned at = 0; at < size; at += kPieceBytes) {
      const auto length = static_cast<std::uint8_t>(std::min<unsigned>(kPieceBytes, size - at));
      add({place, 1, 2, static_cast<std::uint8_t>(at), length, size});
    }
    for (unsigned at = 0; at < size; at += kPieceBytes) add({arrive, 0});
    all.push_back(bytes);
  }
  return all;
}

}  // namespace muster::fuzz
