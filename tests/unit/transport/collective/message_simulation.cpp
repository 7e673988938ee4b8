#include "tests/unit/transport/collective/message_simulation.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::testing {

ReductionShape shape_of(Algorithm algorithm, const Cluster& cluster, std::size_t elements,
                        std::size_t chunk_elements, std::uint32_t self) {
  ReductionShape shape;
  shape.self = self;
  shape.shards = cluster.members;
  shape.elements = elements;
  shape.chunk_elements = chunk_elements;
  shape.algorithm = algorithm;
  for (std::uint32_t m = 0; m < cluster.members; ++m)
    shape.members.push_back({m, 0, m, m + 1, m / cluster.per_host});
  return shape;
}

MessageSimulation::MessageSimulation(Algorithm algorithm, const Cluster& cluster,
                                     const CostParameters& parameters, std::size_t elements,
                                     std::size_t buckets)
    : cluster_(cluster),
      parameters_(parameters),
      outward_free_s_(cluster.hosts()),
      inward_free_s_(cluster.hosts()) {
  const auto chunk = static_cast<std::size_t>(parameters.chunk_bytes) / sizeof(float);
  for (std::uint32_t m = 0; m < cluster.members; ++m) {
    auto& member = *members_.emplace_back(
        std::make_unique<Member>(shape_of(algorithm, cluster, elements, chunk, m), *nobody_));
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      member.sums.push_back(std::make_unique<TreeSum>(
          member.plan, member.staging, member.variants,
          [this, m, bucket](std::uint32_t to, Frame frame, std::span<const std::byte> payload,
                            Staging::Hold hold) {
            const std::span values(reinterpret_cast<const float*>(payload.data()),
                                   payload.size() / sizeof(float));
            frame.round = bucket;
            send(m, to, frame, values, static_cast<double>(payload.size()));
            if (hold != Staging::kNone) members_[m]->staging.release(hold);
          }));
      member.arrived.emplace_back(member.plan.pieces().size(), 0);
    }
    member.values.assign(elements, 1.0f);
    member.result.assign(elements, 0.0f);
  }
}

void MessageSimulation::send(std::uint32_t from, std::uint32_t to, Frame frame,
                             std::span<const float> payload, double bytes) {
  frame.from = from;
  frame.bytes = payload.size_bytes();
  Member& sender = *members_[from];
  sender.free_s += parameters_.overhead_s;
  const std::uint32_t home = from / cluster_.per_host;
  Message message{sender.free_s + parameters_.latency_within_s,
                  ++sent_,
                  from,
                  to,
                  frame,
                  {payload.begin(), payload.end()}};
  if (home != to / cluster_.per_host) {
    message.wire_s = bytes * parameters_.wire_s_per_byte;
    const double leaves_s = std::max(sender.free_s, outward_free_s_[home]);
    outward_free_s_[home] = leaves_s + message.wire_s;
    message.at_s = leaves_s + parameters_.latency_between_s;
  }
  messages_.push(std::move(message));
}

// Its first byte has reached the receiver's host; its last one comes later. False: it is there already.
bool MessageSimulation::enters(Message& message) {
  if (message.wire_s == 0) return false;
  double& free_s = inward_free_s_[message.to / cluster_.per_host];
  free_s = message.at_s = std::max(message.at_s, free_s) + message.wire_s;
  message.wire_s = 0;
  return true;
}

void MessageSimulation::send_reports(std::uint32_t from, FrameKind kind, const PhaseCost& reports) {
  Frame frame;
  frame.kind = kind;
  for (std::uint32_t to = 0; to < cluster_.members; ++to) {
    if (to != from) send(from, to, frame, {}, reports.sent / (cluster_.members - 1));
  }
}

// A piece is added up when all of it has come.
double MessageSimulation::adding_s(Member& member, const Message& message) const {
  if (message.frame.kind != FrameKind::contribution) return 0;
  const auto pieces = member.plan.pieces_at(elements_in(message.frame).first, message.payload.size());
  double seconds = 0;
  for (std::size_t i = pieces->first; i < pieces->end; ++i) {
    const SumPlan::Piece& piece = member.plan.pieces()[i];
    const SumPlan::Role& role = member.plan.role(piece);
    if (++member.arrived[message.frame.round][i] + 1 == role.inputs.size()) {
      const std::size_t moved = role.inputs.size() + (role.owns ? 1 : role.outputs.size());
      seconds += static_cast<double>(moved * piece.count * sizeof(float)) * parameters_.memory_s_per_byte;
    }
  }
  return seconds;
}

void MessageSimulation::deliver(const Message& message) {
  Member& member = *members_[message.to];
  member.free_s = std::max(member.free_s, message.at_s) + parameters_.overhead_s + adding_s(member, message);
  if (message.payload.empty()) return;
  const bool within = message.from / cluster_.per_host == message.to / cluster_.per_host;
  if (within && message.frame.kind == FrameKind::result)
    member.free_s += 2 * static_cast<double>(message.frame.bytes) * parameters_.memory_s_per_byte;
  TreeSum& sum = *member.sums[message.frame.round];
  const auto place = sum.place(message.frame);
  MUSTER_CHECK(place.size() == message.frame.bytes, place.size());
  std::copy(message.payload.begin(), message.payload.end(), reinterpret_cast<float*>(place.data()));
  sum.arrived(message.frame, place);
}

void MessageSimulation::hand_in(std::uint32_t number, std::size_t bucket) {
  Member& member = *members_[number];
  if (bucket + 1 == member.sums.size()) send_reports(number, FrameKind::metrics, metrics_cost(cluster_, 1));
  member.sums[bucket]->offer({{leaf_node(tree_height(cluster_.members), number), member.values.data()}},
                             {0, member.values.size()});
}

double MessageSimulation::run(double every_s) {
  const std::vector<bool> present(cluster_.members, true);
  for (std::uint32_t m = 0; m < cluster_.members; ++m) {
    send_reports(m, FrameKind::header, headers_cost(cluster_, 1));
    for (std::size_t bucket = 0; bucket < members_[m]->sums.size(); ++bucket) {
      members_[m]->sums[bucket]->open(members_[m]->result, 1);
      members_[m]->sums[bucket]->settle(present, 1);
      Frame frame;
      frame.round = bucket;
      messages_.push({every_s * static_cast<double>(bucket + 1), ++sent_, m, m, frame, {}});
    }
  }
  double end_s = 0;
  while (!messages_.empty()) {
    Message message = messages_.top();
    messages_.pop();
    if (message.from == message.to) {
      Member& member = *members_[message.to];
      member.free_s = std::max(member.free_s, message.at_s);
      hand_in(message.to, message.frame.round);
    } else if (enters(message)) {
      messages_.push(std::move(message));
    } else {
      deliver(message);
    }
  }
  for (const auto& member : members_) {
    for (const auto& sum : member->sums) MUSTER_CHECK(sum->complete());
    end_s = std::max(end_s, member->free_s);
  }
  return end_s;
}

}  // namespace muster::testing
