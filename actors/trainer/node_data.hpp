// The data of a node: opened when it is asked for, and let go of where loaders read it. For one thread at a
// time: that which prepares the node, then the loading thread.
#pragma once

#include <functional>
#include <memory>

#include "actors/messages/messages.hpp"
#include "actors/pipeline/stream.hpp"
#include "muster/job.hpp"
#include "muster/source.hpp"

namespace muster {

class NodeData {
 public:
  NodeData() = default;
  /// `make` opens the job's data; it may throw Error.
  NodeData(const Job& job, std::function<Dataset()> make);

  bool is_open() const { return reader_ != nullptr; }
  /// Opens the data first, if they are not open. Throws Error.
  BatchReader& reader();
  /// The sources, once the data are open.
  const Dataset& sources() const { return *dataset_; }
  /// What is known of the data, once they are open.
  DataFacts facts() const;
  void close();

 private:
  std::shared_ptr<const Job> job_;
  std::function<Dataset()> make_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<BatchReader> reader_;  // of these
};

}  // namespace muster
