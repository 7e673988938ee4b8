// The membership: which nodes a run is made of, and how far each has come. Pure rules of the coordinator:
// state and message in, decision and reason out.
//
// What happens to nodes is told to the membership, or to one of its parts: who is taken in, who comes back,
// who gives newcomers their state. What follows is asked of its parts, or of the rules in
// actors/rules/nodes/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/messages/report_messages.hpp"
#include "actors/messages/view_messages.hpp"
#include "actors/rules/membership/admission.hpp"
#include "actors/rules/membership/fit.hpp"
#include "actors/rules/membership/returns.hpp"
#include "actors/rules/membership/state_transfers.hpp"
#include "actors/rules/membership/view_maker.hpp"
#include "actors/rules/nodes/hang_watch.hpp"
#include "actors/rules/nodes/held_state.hpp"
#include "actors/rules/nodes/leaving.hpp"
#include "actors/rules/nodes/node_table.hpp"
#include "actors/rules/nodes/stages.hpp"
#include "muster/job.hpp"

namespace muster {

class Membership {
 public:
  /// Places for those that the job starts with. Numbers begin with these, where others were given before.
  explicit Membership(const Job& job, const FreeNumbers& first = {});

  const NodeTable& nodes() const { return *nodes_; }
  const NodeRecord& at(const NodeName& name) const { return nodes_->at(name); }
  const NodeRecord* find(const NodeName& name) const { return nodes().find(name); }
  bool alive(const NodeName& name) const { return nodes_->alive(name); }
  bool member(const NodeName& name) const { return nodes_->member(name); }
  bool none_alive() const { return nodes_->none_alive(); }
  /// How the others reach this node.
  Member member_of(const NodeName& name) const { return nodes_->member_of(name); }
  /// Whether all who are waited for stand at this stage (all_are).
  bool all(NodeStage stage, bool replicas_only = false) const;

  Admission& admission() { return admission_; }
  const Admission& admission() const { return admission_; }
  Returns& returns() { return returns_; }
  const Returns& returns() const { return returns_; }
  StateTransfers& transfers() { return transfers_; }
  const StateTransfers& transfers() const { return transfers_; }
  const Fit& fit() const { return fit_; }
  const ViewMaker& views() const { return views_; }

  // --- what happens to nodes

  void heard(const Heartbeat& message) { nodes_->heard(message); }
  void leaving(const NodeName& name) { (*nodes_)[name].leaving = true; }
  void left(const NodeName& name) { (*nodes_)[name].stage = NodeStage::left; }
  void lost(const NodeName& name) { (*nodes_)[name].stage = NodeStage::lost; }
  /// It has closed the view, and is about to be lost: no view is made of what it held.
  void closes_no_more(const NodeName& name) {
    NodeRecord& record = (*nodes_)[name];
    if (record.stage == NodeStage::closed) record.stage = NodeStage::prepared;
  }
  void announced(const NodeName& name) { (*nodes_)[name].announced = true; }
  /// A member says how far the bits of its view were compared (gradients_compared, weights_compared).
  void compared(std::uint32_t view, const std::vector<std::uint64_t>& clean);
  void weights_compared();
  /// The reason if the run cannot go on, for others ended differently; empty otherwise. Other weights are no
  /// reason where cluster.on_corruption is "report".
  std::string done(const ReplicaDone& message);

  // --- from one view to the next

  /// Who is to close the view: its members, and the newcomers that have caught up; they count as members
  /// from now on.
  std::vector<NodeName> begin_close();
  void closed(const Closed& message);
  /// This view is being installed.
  void entered(const View& view) { nodes_->enter(view); }
  void installed(const NodeName& name) { (*nodes_)[name].stage = NodeStage::installed; }
  /// All go back: what was said of the end counts no more.
  void begin_again();
  /// The view that a coordinator before this one sent last, and the numbers that it had given
  /// (Returns::wait_for).
  void entered_before(const View& view, const FreeNumbers& free);

 private:
  std::unique_ptr<NodeTable> nodes_;  // the parts refer to it
  bool may_differ_;
  Admission admission_;
  Returns returns_;
  StateTransfers transfers_;
  Fit fit_;
  ViewMaker views_;
};

}  // namespace muster
