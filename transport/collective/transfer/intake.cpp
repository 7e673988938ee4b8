#include "transport/collective/transfer/intake.hpp"

#include <algorithm>

#include "transport/quarantine.hpp"

namespace muster {

namespace {

bool of_one_transfer(const Frame& a, const Frame& b) {
  return a.from == b.from && a.incarnation == b.incarnation && a.view == b.view && a.kind == b.kind &&
         PieceBody::from(a).number == PieceBody::from(b).number &&
         PieceBody::from(a).whole_bytes == PieceBody::from(b).whole_bytes;
}

std::string text(const PieceBody& piece) {
  return "bytes " + std::to_string(piece.first_byte) + " to " +
         std::to_string(piece.first_byte + piece.bytes) + " of " + std::to_string(piece.whole_bytes) +
         " of " + (piece.of == FrameKind::state ? "the state after record " : "record ") +
         std::to_string(piece.number);
}

}  // namespace

Intake::Place Intake::place(const Frame& frame, std::uint64_t transfer_bytes_max) {
  const auto piece = PieceBody::from(frame);
  if (piece.whole_bytes > transfer_bytes_max) {
    return {
        {}, false, text(piece) + ": at most " + std::to_string(transfer_bytes_max) + " bytes were agreed"};
  }
  if (!fits(piece, piece_bytes_)) return {{}, false, text(piece) + " is no piece of it"};
  if (std::ranges::any_of(whole_, [&](const Frame& one) { return of_one_transfer(one, frame); }))
    return {{}, true, {}};
  auto transfer = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return one.wanted && of_one_transfer(one.first, frame);
  });
  if (transfer == incoming_.end()) {
    if (incoming_.size() >= kTransfersMax) return {{}, false, text(piece) + ": too much comes at once"};
    const std::size_t pieces = (piece.whole_bytes + piece_bytes_ - 1) / piece_bytes_;
    transfer = incoming_.insert(transfer, Incoming{});
    transfer->first = frame;
    transfer->bytes.resize(piece.whole_bytes);
    transfer->begin = transfer->bytes.data();
    transfer->pieces.assign(pieces, Stage::missing);
    transfer->missing = pieces;
  }
  Stage& stage = transfer->pieces[piece.first_byte / piece_bytes_];
  if (stage != Stage::missing) return {{}, stage == Stage::here, {}};
  stage = Stage::arriving;
  ++transfer->arriving;
  return {std::span(transfer->bytes).subspan(piece.first_byte, piece.bytes), false, {}};
}

// The transfer whose piece is at this stage; what is no longer wanted may be there twice.
std::list<Intake::Incoming>::iterator Intake::find(const Frame& frame, Stage stage) {
  const std::size_t piece = PieceBody::from(frame).first_byte / piece_bytes_;
  return std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_transfer(one.first, frame) && one.pieces[piece] == stage;
  });
}

void Intake::let_go(std::list<Incoming>::iterator transfer) {
  transfer->wanted = false;
  if (transfer->arriving == 0) incoming_.erase(transfer);
}

Intake::Taken Intake::arrived(const Frame& frame, std::span<const std::byte> bytes) {
  const auto piece = PieceBody::from(frame);
  const auto transfer = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_transfer(one.first, frame) && one.begin + piece.first_byte == bytes.data();
  });
  if (transfer == incoming_.end()) return {};
  --transfer->arriving;
  transfer->pieces[piece.first_byte / piece_bytes_] = Stage::here;
  if (!transfer->wanted) {
    let_go(transfer);
    return {};
  }
  if (piece_check(bytes) != piece.check) {
    let_go(transfer);
    return {true, text(piece) + " are not as they were sent", std::nullopt};
  }
  if (--transfer->missing > 0) return {true, {}, std::nullopt};
  Taken taken{true, {}, std::move(transfer->bytes)};
  incoming_.erase(transfer);
  was_whole(frame);
  return taken;
}

void Intake::was_whole(const Frame& first) {
  whole_.push_back(first);
  if (whole_.size() > kWholeMax) whole_.pop_front();
}

void Intake::dropped(const Frame& frame, bool abandoned) {
  const auto transfer = find(frame, Stage::arriving);
  if (transfer == incoming_.end()) return;
  --transfer->arriving;
  transfer->pieces[PieceBody::from(frame).first_byte / piece_bytes_] = Stage::missing;
  if (abandoned) quarantine(std::move(transfer->bytes));  // all of it; other pieces may still arrive there
  let_go(transfer);
}

void Intake::forget() {
  whole_.clear();
  for (auto transfer = incoming_.begin(); transfer != incoming_.end();) let_go(transfer++);
}

}  // namespace muster
