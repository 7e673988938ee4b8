#include "actors/replica/duties/weights_check.hpp"

#include <utility>

#include "actors/replica/context/own_round.hpp"

namespace muster {

void WeightsCheck::begin() {
  context_.show(Activity::updating);
  times_.pass(context_.now());
  context_.compute([step = context_.schedule().steps()](TrainerState& trainer) {
    return Weighed{0, weigh_all(trainer, step), {}};
  });
}

void WeightsCheck::on(const Weighed& message) {
  if (message.turn != context_.turn) return;
  if (!message.error.empty()) return context_.trouble("the weights could not be hashed: " + message.error);
  if (context_.phase.is_halted()) return;
  context_.show(Activity::reducing);
  times_.weighed(context_.now());
  RoundHeader opening = round_header(context_, RoundKind::check, comparison_.block());
  opening.weights = message.weights;
  comparison_.weighed(message.weights);
  context_.port->to_reducer(Open{context_.view().number, std::move(opening), nullptr, 0, nullptr});
}

void WeightsCheck::compared(const RoundRecord& check) {
  comparison_.compared(context_.view().number, context_.records());
  times_.reduced(check, context_.now());
}

}  // namespace muster
