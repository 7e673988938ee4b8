#include "transport/collective/transfer/intake.hpp"

#include <algorithm>

#include "transport/quarantine.hpp"

namespace muster {

namespace {

bool of_one_transfer(const Frame& a, const Frame& b) {
  return a.from == b.from && a.incarnation == b.incarnation && a.view == b.view && a.kind == b.kind &&
         a.round == b.round && a.more == b.more;
}

std::string text(const Frame& frame) {
  return "bytes " + std::to_string(frame.offset) + " to " + std::to_string(frame.offset + frame.bytes) +
         " of " + std::to_string(frame.more) + " of " +
         (frame.kind == FrameKind::state ? "the state after record " : "record ") +
         std::to_string(frame.round);
}

}  // namespace

Intake::Place Intake::place(const Frame& frame, std::uint64_t transfer_bytes_max) {
  if (frame.more > transfer_bytes_max) {
    return {
        {}, false, text(frame) + ": at most " + std::to_string(transfer_bytes_max) + " bytes were agreed"};
  }
  if (!fits({frame.offset, frame.bytes, frame.more}, piece_bytes_))
    return {{}, false, text(frame) + " is no piece of it"};
  if (std::ranges::any_of(whole_, [&](const Frame& one) { return of_one_transfer(one, frame); }))
    return {{}, true, {}};
  auto transfer = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return one.wanted && of_one_transfer(one.first, frame);
  });
  if (transfer == incoming_.end()) {
    if (incoming_.size() >= kTransfersMax) return {{}, false, text(frame) + ": too much comes at once"};
    const std::size_t pieces = (frame.more + piece_bytes_ - 1) / piece_bytes_;
    transfer = incoming_.insert(transfer, Incoming{});
    transfer->first = frame;
    transfer->bytes.resize(frame.more);
    transfer->begin = transfer->bytes.data();
    transfer->pieces.assign(pieces, Stage::missing);
    transfer->missing = pieces;
  }
  Stage& stage = transfer->pieces[frame.offset / piece_bytes_];
  if (stage != Stage::missing) return {{}, stage == Stage::here, {}};
  stage = Stage::arriving;
  ++transfer->arriving;
  return {std::span(transfer->bytes).subspan(frame.offset, frame.bytes), false, {}};
}

// The transfer whose piece is at this stage; what is no longer wanted may be there twice.
std::list<Intake::Incoming>::iterator Intake::find(const Frame& frame, Stage stage) {
  return std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_transfer(one.first, frame) && one.pieces[frame.offset / piece_bytes_] == stage;
  });
}

void Intake::let_go(std::list<Incoming>::iterator transfer) {
  transfer->wanted = false;
  if (transfer->arriving == 0) incoming_.erase(transfer);
}

Intake::Taken Intake::arrived(const Frame& frame, std::span<const std::byte> piece) {
  const auto transfer = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_transfer(one.first, frame) && one.begin + frame.offset == piece.data();
  });
  if (transfer == incoming_.end()) return {};
  --transfer->arriving;
  transfer->pieces[frame.offset / piece_bytes_] = Stage::here;
  if (!transfer->wanted) {
    let_go(transfer);
    return {};
  }
  if (piece_check(piece) != frame.node) {
    let_go(transfer);
    return {true, text(frame) + " are not as they were sent", std::nullopt};
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
  transfer->pieces[frame.offset / piece_bytes_] = Stage::missing;
  if (abandoned) quarantine(std::move(transfer->bytes));  // all of it; other pieces may still arrive there
  let_go(transfer);
}

void Intake::forget() {
  whole_.clear();
  for (auto transfer = incoming_.begin(); transfer != incoming_.end();) let_go(transfer++);
}

}  // namespace muster
