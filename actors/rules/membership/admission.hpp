// Who is taken into a run: which numbers and devices nodes get, who is ready, and who has to come yet.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/messages/view_messages.hpp"
#include "actors/rules/membership/fit.hpp"
#include "actors/rules/nodes/node_table.hpp"
#include "muster/job.hpp"

namespace muster {

class Admission {
 public:
  /// Places for those that the job starts with. Numbers begin with these, where others were given before.
  Admission(NodeTable& nodes, const Job& job, const FreeNumbers& first);

  /// The name under which the node takes part; or the reason of the refusal, which changes nothing.
  struct Answer {
    NodeName name;
    std::string refusal;
  };
  Answer join(const Join& join);
  /// Of the last one that joined, if its number was a new one: it was told none, and the next one gets it.
  void take_back(const NodeName& name);
  const FreeNumbers& free_numbers() const { return free_; }
  /// Others were given, as a node says.
  void given(const FreeNumbers& free) { free_.beyond(free); }
  void given(const View& view);

  /// The device of one that came by itself: what it asked for, or its host's cores in turn.
  std::string device_for(const Join& join) const;
  void placed(const NodeName& name, const std::string& device) { nodes_[name].process.device = device; }

  /// A reason if the run cannot go on with this newcomer; empty otherwise.
  std::string prepared(const Prepared& message);
  /// Whether it is known that it and those of other hosts reach each other; a newcomer waits for that.
  void tried(const NodeName& name, bool tried) { nodes_[name].preparation.tried = tried; }
  /// Some have joined and are not ready; those of them who have had so many calls of `late_to_prepare` now.
  bool any_prepares() const;
  std::vector<NodeName> late_to_prepare(std::int64_t ticks);

  /// Before the first view: every place of the job is taken by one that is ready.
  bool full() const;
  /// Of all replicas, or loaders, that are waited for before the first view: how many have come, and how many
  /// there are to be.
  std::pair<std::uint32_t, std::uint32_t> arrived(bool loader) const;
  /// Nobody is waited for any more who has not joined.
  void drop_expected();

 private:
  NodeTable& nodes_;
  Fit fit_;
  FreeNumbers free_;
  FreeNumbers places_;  // how many the job has
};

}  // namespace muster
