#include "actors/rules/membership/fit.hpp"

#include <algorithm>
#include <utility>

#include "actors/rules/steps/other_bits.hpp"

namespace muster {

namespace {

// "27f0... and 9a3c...": of two texts that differ, a part in which they do. Whoever needs all of them finds
// them in the report. A user's source may give a fingerprint that is no hash.
std::string where_they_differ(const std::string& one, const std::string& other) {
  constexpr std::size_t kShown = 12, kAlike = 4;
  const auto first = std::ranges::mismatch(one, other).in1 - one.begin();
  const auto at = static_cast<std::size_t>(first);
  const std::size_t from = at < kShown ? 0 : at - kAlike;
  const auto part = [&](const std::string& text) {
    return (from > 0 ? "..." : "") + text.substr(from, kShown);
  };
  return part(one) + " and " + part(other);
}

}  // namespace

std::string Fit::differs(const NodeName& who, const NodeName& from) const {
  const Prepared &one = nodes_.at(who).prepared, &other = nodes_.at(from).prepared;
  const std::string it = nodes_.name_at_host(who), others = nodes_.name_at_host(from);
  if (one.loads && other.loads && one.facts != other.facts) {
    return it + " reads other data than " + others + " (fingerprints " +
           where_they_differ(one.facts.fingerprint, other.facts.fingerprint) + ")";
  }
  if (one.model_sha256 != other.model_sha256) {
    return it + " has another model.file or model.library than " + others + " (SHA-256 " +
           where_they_differ(one.model_sha256, other.model_sha256) + "): copy the same one to every host";
  }
  if (who.loader || from.loader) return {};
  if (one.shapes != other.shapes) return it + " has other parameters (names or shapes) than " + others;
  if (one.state_sha256 != other.state_sha256) {
    return it + " begins with other weights than " + others + " (" +
           where_they_differ(one.state_sha256, other.state_sha256) + ")" + why_other_weights(one, other);
  }
  return strict_ ? differs_in_probe(who, from) : std::string{};
}

// Alike in the gradient that all compute with the model's own first weights: it is the file.
std::string Fit::why_other_weights(const Prepared& one, const Prepared& other) const {
  const bool alike = !one.probe_sha256.empty() && one.probe_sha256 == other.probe_sha256;
  if (alike && !start_from_.empty())
    return ": the file of checkpoint.start_from (" + start_from_ + ") is not the same on both hosts";
  return "; " + why_other_bits(one, other);
}

std::string Fit::differs_in_probe(const NodeName& who, const NodeName& from) const {
  const Prepared &one = nodes_.at(who).prepared, &other = nodes_.at(from).prepared;
  const bool known = !one.probe_sha256.empty() && !other.probe_sha256.empty();
  if (!known || one.probe_sha256 == other.probe_sha256) return {};
  return nodes_.name_at_host(who) + " computes other bits than " + nodes_.name_at_host(from) +
         " for the probe gradient; " + why_other_bits(one, other);
}

std::string Fit::misfit(const NodeName& who) const {
  for (const NodeName& other : nodes_.ready_besides(who)) {
    if (std::string why = differs(who, other); !why.empty()) return why;
  }
  return {};
}

std::string Fit::other_bits(const NodeName& who) const {
  for (const NodeName& other : nodes_.ready_besides(who)) {
    if (std::string why = differs_in_probe(who, other); !why.empty()) return why;
  }
  return {};
}

// Those that fit most others stay; of as many, those of the lower numbers.
std::vector<Fit::Unlike> Fit::unlike() const {
  std::vector<std::pair<std::size_t, NodeName>> by_misfits;
  for (const auto& [name, record] : nodes_) {
    if (!is_ready(record)) continue;
    const auto others = nodes_.ready_besides(name);
    const auto misfits = std::ranges::count_if(
        others, [&, &who = name](const NodeName& other) { return !differs(who, other).empty(); });
    by_misfits.emplace_back(static_cast<std::size_t>(misfits), name);
  }
  std::ranges::sort(by_misfits);
  std::vector<NodeName> stay;
  std::vector<Unlike> unlike;
  for (const auto& [misfits, name] : by_misfits) {
    std::string why;
    for (const NodeName& other : stay) {
      if (why.empty()) why = differs(name, other);
      if (!why.empty()) break;
    }
    if (why.empty()) {
      stay.push_back(name);
    } else {
      unlike.push_back({name, std::move(why)});
    }
  }
  return unlike;
}

}  // namespace muster
