#include "actors/contract/layout_check.hpp"

#include <algorithm>
#include <set>

#include "actors/pipeline/batch_check.hpp"

namespace muster {

namespace {

constexpr const char* kCheck = "the layout names each tensor once, without gaps";

std::string in_quotes_of(const LayoutEntry& entry) {
  return "tensor '" + entry.name + "'";
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

// What is wrong with one entry that should begin at `offset`.
std::string mistake_of(const LayoutEntry& entry, std::size_t offset) {
  std::uint64_t bytes = 0;
  if (entry.name.empty()) return "the tensor at offset " + std::to_string(offset) + " has no name";
  if (!tensor_bytes(DType::float32, entry.shape, bytes))
    return in_quotes_of(entry) + " has the impossible shape " + shape_text(entry.shape);
  if (entry.count != bytes / sizeof(float))
    return in_quotes_of(entry) + " has " + std::to_string(entry.count) + " elements, its shape " +
           shape_text(entry.shape) + " has " + std::to_string(bytes / sizeof(float));
  if (entry.offset != offset)
    return in_quotes_of(entry) + " begins at " + std::to_string(entry.offset) +
           ", the one before it ends at " + std::to_string(offset);
  return {};
}

}  // namespace

std::optional<Breach> check_layout(const Layout& layout, const std::string& key) {
  const auto broken = [&](const std::string& found, const std::string& likely = {}) {
    return Breach{key, kCheck, found, likely};
  };
  std::set<std::string> names;
  std::size_t offset = 0;
  for (const LayoutEntry& entry : layout.entries) {
    if (const std::string mistake = mistake_of(entry, offset); !mistake.empty())
      return broken(mistake, "build the layout with add_parameter and add_buffer alone");
    if (!names.insert(entry.name).second)
      return broken("two tensors have the name '" + entry.name + "'",
                    "checkpoints find tensors by name: give each its own");
    offset += entry.count;
    if (entry.offset < layout.parameters && offset > layout.parameters)
      return broken(in_quotes_of(entry) + " lies across the end of the parameters (" +
                    std::to_string(layout.parameters) + " elements)");
  }
  if (offset != layout.total())
    return broken("the tensors have " + std::to_string(offset) + " elements, the layout says " +
                  std::to_string(layout.parameters) + " parameters and " + std::to_string(layout.buffers) +
                  " buffers");
  return std::nullopt;
}

std::string element_text(const Layout& layout, std::size_t index) {
  for (const LayoutEntry& entry : layout.entries) {
    if (index >= entry.offset && index < entry.offset + entry.count)
      return "element " + std::to_string(index - entry.offset) + " of '" + entry.name + "'";
  }
  return "element " + std::to_string(index);
}

}  // namespace muster
