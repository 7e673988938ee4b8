#include "transport/collective/transfer/transfer_sender.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void TransferSender::give(PeerId to, FrameKind kind, std::uint64_t number,
                          std::shared_ptr<const TransferPayload> transfer, Time now, Time step) {
  const auto [found, is_new] = to_.try_emplace(to);
  Receiver& receiver = found->second;
  if (is_new) {
    receiver.newcomer = newcomers_.contains(to);
    receiver.since = now;
    receiver.busy_before = pace_.busy();
    receiver.step_before = step;
  }
  ++receiver.came;
  receiver.waiting.push_back({kind, number, std::move(transfer), 0});
}

void TransferSender::arrived(PeerId at, const ReceivedBody& answer, Time now) {
  if (!answer.invalid().empty()) return;
  const auto receiver = to_.find(at);
  if (receiver == to_.end()) return;
  auto& pieces = receiver->second.on_their_way;
  const auto piece = std::find_if(pieces.begin(), pieces.end(), [&](const OnItsWay& one) {
    return one.kind == answer.of && one.number == answer.number && one.offset == answer.first_byte;
  });
  if (piece == pieces.end()) return;  // it says so twice
  receiver->second.bytes += piece->bytes;
  pieces.erase(piece);
  pace_.ended(now);
  const bool over = pieces.empty() && receiver->second.waiting.empty();
  if (over && !receiver->second.newcomer) to_.erase(receiver);
}

void TransferSender::round_over(bool step, Time now) {
  const auto began = std::exchange(round_began_, now);
  if (!began || !step) return;
  for (auto& [peer, receiver] : to_) {
    if (receiver.since < *began) receiver.steps.step_took(now - *began);
  }
}

void TransferSender::forget(PeerId peer, Time now) {
  newcomers_.erase(peer);
  const auto receiver = to_.find(peer);
  if (receiver == to_.end()) return;
  for (std::size_t i = 0; i < receiver->second.on_their_way.size(); ++i) pace_.ended(now);
  to_.erase(receiver);
}

void TransferSender::forget_all(Time now) {
  while (!to_.empty()) forget(to_.begin()->first, now);
  newcomers_.clear();
  round_began_.reset();
}

// Half of what may wait has come since the last time that nothing did: at this pace it never ends.
bool TransferSender::hurries(const Receiver& receiver) const {
  return !receiver.newcomer || receiver.came > window_ / 2;
}

bool TransferSender::may_send(const Receiver& receiver, TransferPace::Sight sight) {
  if (receiver.waiting.empty() || receiver.on_their_way.size() >= kPiecesInFlight) return false;
  const Waiting& first = receiver.waiting.front();
  sight.small = first.transfer->bytes() - first.next <= options_.small_bytes;
  sight.hurry = hurries(receiver);
  return pace_.judge(sight).go;
}

// In turn, so that one newcomer does not wait for all that another one is given.
void TransferSender::pump(TransferPace::Sight sight) {
  if (pumping_) return;  // a send has ended within its own call
  pumping_ = true;
  for (bool any = true; any;) {
    any = false;
    auto next = to_.upper_bound(served_);
    for (std::size_t i = 0; i < to_.size(); ++i, ++next) {
      if (next == to_.end()) next = to_.begin();
      if (!may_send(next->second, sight)) continue;
      served_ = next->first;
      send_piece(next->first, next->second, sight.now);
      any = true;
    }
  }
  pumping_ = false;
}

void TransferSender::send_piece(PeerId to, Receiver& receiver, Time now) {
  Waiting& first = receiver.waiting.front();
  const std::uint64_t all = first.transfer->bytes();
  std::vector<std::byte> bytes(std::min<std::uint64_t>(options_.piece_bytes, all - first.next));
  first.transfer->copy(first.next, bytes);
  PieceBody piece;
  piece.of = first.kind;
  piece.number = first.number;
  piece.first_byte = first.next;
  piece.bytes = static_cast<std::uint32_t>(bytes.size());
  piece.whole_bytes = all;
  piece.check = piece_check(bytes);
  piece.waiting = static_cast<std::uint32_t>(std::ranges::count_if(
      receiver.waiting, [number = first.number](const Waiting& each) { return each.number > number; }));
  receiver.on_their_way.push_back({first.kind, first.number, first.next, bytes.size()});
  first.next += bytes.size();
  if (first.next == all) receiver.waiting.pop_front();
  if (receiver.waiting.empty()) receiver.came = 0;
  pace_.began(now);
  send_(to, frame_with(piece), std::move(bytes));
}

std::optional<Given> TransferSender::given(PeerId newcomer, Time now) const {
  const auto found = to_.find(newcomer);
  if (found == to_.end() || !found->second.newcomer) return std::nullopt;
  const Receiver& receiver = found->second;
  return Given{receiver.bytes, now - receiver.since, pace_.busy() - receiver.busy_before,
               receiver.step_before, receiver.steps.median()};
}

}  // namespace muster
