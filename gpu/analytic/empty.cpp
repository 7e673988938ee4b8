#include "gpu/analytic/empty.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {
namespace {

class Empty final : public Model {
 public:
  explicit Empty(std::int64_t parameters) { layout_.add_parameter("parameters", {parameters}); }

  const Layout& layout() const override { return layout_; }

  void initialize(std::uint64_t, std::span<float> state) override { std::ranges::fill(state, 0.0F); }

  // Of each sample the same.
  Metrics gradient(std::span<const float>, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    MUSTER_CHECK(gradient.size() == layout_.total(), gradient.size(), layout_.total());
    auto value = static_cast<std::uint32_t>(key.step * 31 + key.shard * 17);
    const auto rows = static_cast<std::int32_t>(batch.rows);
    for (auto& element : gradient)
      element = static_cast<float>(rows * (static_cast<std::int32_t>(value++ & 63U) - 32));
    return {};
  }

  Metrics evaluate(std::span<const float>, const Batch&) override { return {}; }

 private:
  Layout layout_;
};

}  // namespace

std::vector<OptionSpec> empty_options() {
  return {{"parameters",
           OptionType::integer,
           "number of parameters, of 4 bytes each",
           Option{std::int64_t{1 << 20}},
           1,
           1LL << 32,
           {}}};
}

std::unique_ptr<Model> make_empty(const Options& options, const ModelContext&) {
  return std::make_unique<Empty>(option<std::int64_t>(options, "parameters"));
}

}  // namespace muster
