#include "actors/trainer/node_data.hpp"

#include <utility>

namespace muster {

NodeData::NodeData(const Job& job, std::function<Dataset()> make)
    : job_(std::make_shared<const Job>(job)), make_(std::move(make)) {}

BatchReader& NodeData::reader() {
  if (!reader_) {
    dataset_ = std::make_unique<Dataset>(make_());
    reader_ = std::make_unique<BatchReader>(*job_, *dataset_);
  }
  return *reader_;
}

void NodeData::close() {
  reader_.reset();
  dataset_.reset();
}

DataFacts NodeData::facts() const {
  DataFacts facts;
  if (const auto samples = reader_->samples()) facts.samples = static_cast<std::int64_t>(*samples);
  facts.unit_is_batch = reader_->unit() == "batch";
  facts.has_test = reader_->evaluates();
  if (const auto dealing = reader_->dealing()) facts.dropped = dealing->dropped();
  facts.steps_per_epoch = reader_->steps_per_epoch().value_or(0);
  if (const auto& cut = reader_->cut(); cut && cut->exhausted) {
    facts.take_asked = static_cast<std::int64_t>(cut->asked);
    facts.take_had = static_cast<std::int64_t>(cut->had);
  }
  facts.fingerprint = dataset_->train->fingerprint();
  if (dataset_->test) facts.fingerprint.append(" ").append(dataset_->test->fingerprint());
  return facts;
}

}  // namespace muster
