// Who fits the others: what each node reads, computes and begins with is compared when it joins, and when it
// comes back. Pure rules.
#pragma once

#include <string>
#include <vector>

#include "actors/rules/nodes/node_table.hpp"
#include "muster/job.hpp"

namespace muster {

class Fit {
 public:
  Fit(const NodeTable& nodes, const Job& job)
      : nodes_(nodes),
        strict_(job.cluster.reproducible == Reproducible::strict),
        start_from_(job.checkpoint.start_from) {}

  /// Why the run cannot go on with this one; empty if it can.
  std::string misfit(const NodeName& who) const;
  /// That this replica computes other bits than another one for the probe gradient; empty if not. That is a
  /// misfit, unless cluster.reproducible is "loose".
  std::string other_bits(const NodeName& who) const;

  /// Before the first view: those that do not fit the others, and why. Where as many are of one kind as of
  /// another one, those of the lower numbers stay.
  struct Unlike {
    NodeName who;
    std::string why;
  };
  std::vector<Unlike> unlike() const;

 private:
  std::string differs(const NodeName& who, const NodeName& from) const;
  std::string why_other_weights(const Prepared& one, const Prepared& other) const;
  std::string differs_in_probe(const NodeName& who, const NodeName& from) const;

  const NodeTable& nodes_;
  bool strict_;
  std::string start_from_;
};

}  // namespace muster
