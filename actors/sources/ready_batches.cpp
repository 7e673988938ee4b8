#include "muster/source.hpp"

#include <utility>

#include "muster/fingerprint.hpp"

namespace muster {

VectorBatchSource::VectorBatchSource(std::vector<Batch> batches) : batches_(std::move(batches)) {}

std::uint64_t VectorBatchSource::resident_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& batch : batches_) sum += batch.bytes();
  return sum;
}

std::string VectorBatchSource::fingerprint() const {
  Fingerprint print;
  print.add("batches");
  print.add(std::uint64_t{batches_.size()});
  for (const auto& batch : batches_) {
    print.add(std::uint64_t{batch.rows});
    print.add(std::uint64_t{batch.padding});
    print.add(std::uint64_t{batch.tensors.size()});
    for (const auto& tensor : batch.tensors) {
      print.add(static_cast<std::uint64_t>(tensor.dtype));
      print.add(std::as_bytes(std::span(tensor.shape)));
      print.add(std::span<const std::byte>(tensor.bytes));
    }
  }
  return print.hex();
}

}  // namespace muster
