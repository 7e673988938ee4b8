#include "transport/collective/transfer/intake.hpp"

#include <algorithm>

#include "transport/graveyard.hpp"

namespace muster {

namespace {

bool of_one_parcel(const Frame& a, const Frame& b) {
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

Intake::Place Intake::place(const Frame& frame, std::uint64_t parcel_bytes_max) {
  if (frame.more > parcel_bytes_max) {
    return {{}, false, text(frame) + ": at most " + std::to_string(parcel_bytes_max) + " bytes were agreed"};
  }
  if (!fits({frame.offset, frame.bytes, frame.more}, piece_bytes_))
    return {{}, false, text(frame) + " is no piece of it"};
  if (std::ranges::any_of(whole_, [&](const Frame& one) { return of_one_parcel(one, frame); }))
    return {{}, true, {}};
  auto parcel = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return one.wanted && of_one_parcel(one.first, frame);
  });
  if (parcel == incoming_.end()) {
    if (incoming_.size() >= kParcelsMax) return {{}, false, text(frame) + ": too much comes at once"};
    const std::size_t pieces = (frame.more + piece_bytes_ - 1) / piece_bytes_;
    parcel = incoming_.insert(parcel, Incoming{});
    parcel->first = frame;
    parcel->bytes.resize(frame.more);
    parcel->begin = parcel->bytes.data();
    parcel->pieces.assign(pieces, Stage::missing);
    parcel->missing = pieces;
  }
  Stage& stage = parcel->pieces[frame.offset / piece_bytes_];
  if (stage != Stage::missing) return {{}, stage == Stage::here, {}};
  stage = Stage::arriving;
  ++parcel->arriving;
  return {std::span(parcel->bytes).subspan(frame.offset, frame.bytes), false, {}};
}

// The parcel whose piece is at this stage; what is no longer wanted may be there twice.
std::list<Intake::Incoming>::iterator Intake::find(const Frame& frame, Stage stage) {
  return std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_parcel(one.first, frame) && one.pieces[frame.offset / piece_bytes_] == stage;
  });
}

void Intake::let_go(std::list<Incoming>::iterator parcel) {
  parcel->wanted = false;
  if (parcel->arriving == 0) incoming_.erase(parcel);
}

Intake::Taken Intake::arrived(const Frame& frame, std::span<const std::byte> piece) {
  const auto parcel = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return of_one_parcel(one.first, frame) && one.begin + frame.offset == piece.data();
  });
  if (parcel == incoming_.end()) return {};
  --parcel->arriving;
  parcel->pieces[frame.offset / piece_bytes_] = Stage::here;
  if (!parcel->wanted) {
    let_go(parcel);
    return {};
  }
  if (piece_check(piece) != frame.node) {
    let_go(parcel);
    return {true, text(frame) + " are not as they were sent", std::nullopt};
  }
  if (--parcel->missing > 0) return {true, {}, std::nullopt};
  Taken taken{true, {}, std::move(parcel->bytes)};
  incoming_.erase(parcel);
  was_whole(frame);
  return taken;
}

void Intake::was_whole(const Frame& first) {
  whole_.push_back(first);
  if (whole_.size() > kWholeMax) whole_.pop_front();
}

void Intake::dropped(const Frame& frame, bool abandoned) {
  const auto parcel = find(frame, Stage::arriving);
  if (parcel == incoming_.end()) return;
  --parcel->arriving;
  parcel->pieces[frame.offset / piece_bytes_] = Stage::missing;
  if (abandoned) bury(std::move(parcel->bytes));  // all of it; other pieces may still arrive there
  let_go(parcel);
}

void Intake::forget() {
  whole_.clear();
  for (auto parcel = incoming_.begin(); parcel != incoming_.end();) let_go(parcel++);
}

}  // namespace muster
