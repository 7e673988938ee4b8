// Files of weights (gpu/files/safetensors.hpp).
#include "gpu/files/safetensors.hpp"
#include "muster/error.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace muster::fuzz {
namespace {

Bytes file_of(const std::string& header, std::size_t data) {
  const std::uint64_t size = header.size();
  return joined({raw(size), bytes_of(header), Bytes(data, std::byte{63})});
}

}  // namespace

bool accepts(Input input) {
  const MemoryFile file(input);
  try {
    const Safetensors tensors = read_safetensors(file.path());
    std::size_t expected = 0;
    for (const auto& entry : tensors.entries) {
      MUSTER_CHECK(entry.offset == expected, entry.name, entry.offset, expected);
      std::size_t product = 1;
      for (const auto extent : entry.shape) {
        MUSTER_CHECK(extent >= 0, entry.name, extent);
        product *= static_cast<std::size_t>(extent);
      }
      MUSTER_CHECK(product == entry.count, entry.name, product, entry.count);
      expected += entry.count;
    }
    MUSTER_CHECK(tensors.state.size() == expected, tensors.state.size(), expected);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Bytes> seeds() {
  return {file_of("{}", 0), file_of(R"({"__metadata__":{"job":"sample","step":"9"},)"
                                    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                    R"("b":{"dtype":"F32","shape":[],"data_offsets":[24,28]},)"
                                    R"("c":{"dtype":"F32","shape":[0],"data_offsets":[28,28]}})",
                                    28)};
}

}  // namespace muster::fuzz
