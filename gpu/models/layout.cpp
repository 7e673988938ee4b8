#include <utility>

#include "base/check.hpp"
#include "muster/model.hpp"

namespace muster {
namespace {

LayoutEntry make_entry(std::string name, std::vector<std::int64_t> shape, std::size_t offset) {
  for (const auto extent : shape) MUSTER_CHECK(extent >= 0, "tensor", name, "extent", extent);
  const std::size_t count = Field{DType::float32, shape}.count();
  return LayoutEntry{std::move(name), std::move(shape), offset, count};
}

}  // namespace

void Layout::add_parameter(std::string name, std::vector<std::int64_t> shape) {
  MUSTER_CHECK(buffers == 0, "parameter", name, "comes after a buffer");
  entries.push_back(make_entry(std::move(name), std::move(shape), total()));
  parameters += entries.back().count;
}

void Layout::add_buffer(std::string name, std::vector<std::int64_t> shape) {
  entries.push_back(make_entry(std::move(name), std::move(shape), total()));
  buffers += entries.back().count;
}

}  // namespace muster
