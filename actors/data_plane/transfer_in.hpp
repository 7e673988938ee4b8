// What a member is given over the data plane, as a message.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "actors/messages/messages.hpp"
#include "transport/frames/transfer_bodies.hpp"

namespace muster {

/// Of a frame that brings records, a state or a part of one, or says that they were taken.
inline TransferIn transfer_in(const Frame& frame, std::vector<std::byte> payload) {
  TransferIn in;
  in.view = frame.view;
  in.from = frame.from;
  in.kind = frame.kind;
  in.payload = std::make_shared<const std::vector<std::byte>>(std::move(payload));
  if (comes_in_pieces(frame.kind)) {
    const auto piece = PieceBody::from(frame);
    in.number = piece.number;
    in.waiting = piece.waiting;
  } else {
    in.number = RecordsBody::from(frame).records;
  }
  return in;
}

}  // namespace muster
