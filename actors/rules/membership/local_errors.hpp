// What becomes of a node's own error (a read that fails, no memory, a GPU that fails): a pure rule.
//
// Each costs the node its place in the view, as its death would. The run ends only where no view change
// helps: when two nodes have failed at the same micro-batch, or when no node of this kind is left.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "actors/messages/end_messages.hpp"

namespace muster {

class LocalErrors {
 public:
  /// How people are told of a node.
  using NameOf = std::function<std::string(const NodeName&)>;
  explicit LocalErrors(NameOf name_of = &NodeName::text) : name_of_(std::move(name_of)) {}

  /// So many micro-batches at which a node has failed are remembered.
  static constexpr std::size_t kPlacesMax = 1024;

  struct Verdict {
    bool ends_run = false;        ///< else the node is lost, and the others go on
    bool state_is_whole = false;  ///< what the node holds can still be kept
    std::string reason;           ///< why the run ends
  };
  /// `others_left`: whether another node of its kind can take over.
  Verdict judge(const Failing& failing, bool others_left);

 private:
  NameOf name_of_;
  std::map<ErrorPlace, NodeName> failed_at_;
};

}  // namespace muster
