// What a frame is about, for people.
#pragma once

#include <string>

#include "transport/frames/loading_bodies.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster::simulation {

inline std::string body_text(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::metrics: {
      const std::uint32_t node = MetricsBody::from(frame).tree_node;
      return node == 0 ? "" : ", tree node " + std::to_string(node);
    }
    case FrameKind::contribution:
      return ", tree node " + std::to_string(ContributionBody::from(frame).tree_node);
    case FrameKind::batch:
      return ", shard " + std::to_string(BatchBody::from(frame).shard);
    case FrameKind::demand:
      return ", shard " + std::to_string(DemandBody::from(frame).shard);
    case FrameKind::carried:
      return ", shard " + std::to_string(CarriedBody::from(frame).shard);
    default:
      return "";
  }
}

}  // namespace muster::simulation
