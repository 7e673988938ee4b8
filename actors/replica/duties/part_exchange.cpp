#include "actors/replica/duties/part_exchange.hpp"

#include <set>
#include <utility>

#include "muster/error.hpp"

namespace muster {

namespace {

std::set<std::uint32_t> slots_in(const View& view) {
  std::set<std::uint32_t> slots;
  for (const Member& member : view.replicas) slots.insert(member.name.slot);
  return slots;
}

std::vector<PartMove> moves_into(const TrainerState& trainer, const View& view) {
  if (view.source.view == 0) return {};
  return part_moves(part_tiles(trainer, view.source.holders), part_tiles(trainer, holders_in(view)),
                    slots_in(view), elements_in_parts(trainer));
}

}  // namespace

std::vector<PartMove> moves_to_writer(const TrainerState& trainer, const View& view, std::uint32_t writer) {
  return parts_for(writer, part_tiles(trainer, holders_in(view)), elements_in_parts(trainer));
}

void PartExchange::enter(std::shared_ptr<Part> part) {
  const PartDeal::Entry entry = deal_.enter(context_.view().source, context_.view().number);
  context_.compute([part = std::move(part), view = context_.view(), self = context_.setup.slot,
                    entry](TrainerState& trainer) {
    if (entry.next_counts) trainer.part = std::move(trainer.next_part);
    if (entry.has_none) trainer.part.reset();
    trainer.next_part = part;
    part->prepare(trainer.part.get());
    std::vector<PartMove> wanted = moves_into(trainer, view);
    std::erase_if(wanted, [&](const PartMove& move) { return move.to != self; });
    part->expect(wanted);
    return PartTaken{0, false, part->complete(), {}};
  });
}

void PartExchange::begin() {
  if (!deal_.begin()) return;
  context_.show(Activity::updating);
  context_.compute([view = context_.view(), self = context_.setup.slot, records = context_.records(),
                    post = context_.port->posts_to_reducer()](TrainerState& trainer) {
    Part& next = *trainer.next_part;
    for (const PartMove& move : moves_into(trainer, view)) {
      if (!next.has_vectors() || move.from != self) continue;
      if (!trainer.part) throw Error("it holds no part, but is to give some");
      if (move.to == self && next.keeps(move.elements)) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(trainer.part->give(move.elements));
      if (move.to == self) {
        next.take(*bytes);
      } else {
        post(TransferOut{view.number, move.to, records, FrameKind::part, nullptr, std::move(bytes)});
      }
    }
    return PartTaken{0, true, next.complete(), {}};
  });
}

void PartExchange::take(const TransferIn& message) {
  deal_.ask();
  if (deal_.given() && !deal_.done() && !context_.phase.is_halted()) context_.show(Activity::updating);
  context_.compute([payload = message.payload](TrainerState& trainer) {
    trainer.next_part->take(*payload);
    return PartTaken{0, false, trainer.next_part->complete(), {}};
  });
}

bool PartExchange::on(const PartTaken& message) {
  if (message.turn != context_.turn) return false;
  if (!message.error.empty()) {
    context_.trouble(message.error);
    return false;
  }
  if (context_.view().last && deal_.done()) context_.show(Activity::idle);  // it has given its part
  const PartDeal::Step step = deal_.worked(message.gave, message.complete);
  if (step == PartDeal::Step::none || context_.phase.is_halted()) return false;
  if (step == PartDeal::Step::done) return true;
  // It waits for those of others, unless it has some to take.
  context_.show(deal_.is_worked_on() ? Activity::updating : Activity::reducing);
  return false;
}

// From here on the part of the view before is of no use.
bool PartExchange::take_effect() {
  if (!deal_.take_effect(context_.view().number)) return false;
  if (context_.in_parts())
    context_.setup.compute->submit(
        [trainer = context_.setup.trainer] { trainer->part = std::move(trainer->next_part); });
  return true;
}

void PartExchange::give_for_checkpoint() {
  deal_.ask();
  context_.compute([view = context_.view(), to = context_.view().replicas.front().name.slot,
                    self = context_.setup.slot, number = context_.records(),
                    post = context_.port->posts_to_reducer()](TrainerState& trainer) {
    const Part& part = trainer.next_part ? *trainer.next_part : *trainer.part;
    for (const PartMove& move : moves_to_writer(trainer, view, to)) {
      if (move.from != self || !part.has_vectors()) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(part.give(move.elements));
      post(TransferOut{view.number, to, number, FrameKind::gathered, nullptr, std::move(bytes)});
    }
    return PartTaken{};
  });
}

}  // namespace muster
