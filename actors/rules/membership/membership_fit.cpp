// Who fits the others: what each reads, computes and begins with is compared at every door.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"
#include "actors/rules/steps/other_bits.hpp"

namespace muster {

namespace {

// In messages; whoever needs all of it finds it in the report.
std::string short_hash(const std::string& hash) {
  return hash.substr(0, 12);
}

}  // namespace

std::string Membership::name_at_host(const NodeName& who) const {
  const NodeRecord& record = at(who);
  if (record.host.empty()) return who.text();
  return who.text() + " on " + record.host + (record.address.empty() ? "" : " (" + record.address + ")");
}

std::string Membership::differs(const NodeName& who, const NodeName& from) const {
  const Prepared &one = at(who).prepared, &other = at(from).prepared;
  const std::string it = name_at_host(who), others = name_at_host(from);
  if (one.loads && other.loads && one.facts != other.facts) {
    return it + " reads other data than " + others + " (fingerprints " + short_hash(one.facts.fingerprint) +
           " and " + short_hash(other.facts.fingerprint) + ")";
  }
  if (one.model_sha256 != other.model_sha256) {
    return it + " has another model.file or model.library than " + others + " (SHA-256 " +
           short_hash(one.model_sha256) + " and " + short_hash(other.model_sha256) +
           "): copy the same one to every host";
  }
  if (who.loader || from.loader) return {};
  if (one.shapes != other.shapes) return it + " has other parameters (names or shapes) than " + others;
  if (one.state_sha256 != other.state_sha256) {
    return it + " begins with other weights than " + others + " (" + short_hash(one.state_sha256) + " and " +
           short_hash(other.state_sha256) + ")" + why_other_weights(one, other);
  }
  return strict_ ? differs_in_probe(who, from) : std::string{};
}

// Alike in the gradient that all compute with the model's own first weights: it is the file.
std::string Membership::why_other_weights(const Prepared& one, const Prepared& other) const {
  const bool alike = !one.probe_sha256.empty() && one.probe_sha256 == other.probe_sha256;
  if (alike && !start_from_.empty())
    return ": the file of checkpoint.start_from (" + start_from_ + ") is not the same on both hosts";
  return "; " + why_other_bits(one, other);
}

std::string Membership::differs_in_probe(const NodeName& who, const NodeName& from) const {
  const Prepared &one = at(who).prepared, &other = at(from).prepared;
  const bool known = !one.probe_sha256.empty() && !other.probe_sha256.empty();
  if (!known || one.probe_sha256 == other.probe_sha256) return {};
  return name_at_host(who) + " computes other bits than " + name_at_host(from) + " for the probe gradient; " +
         why_other_bits(one, other);
}

std::vector<NodeName> Membership::ready_but(const NodeName& who) const {
  std::vector<NodeName> names;
  for (const auto& [name, other] : nodes_) {
    if (other.stage >= NodeStage::prepared && !gone(other) && name != who) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::ready_elsewhere(const NodeName& who) const {
  std::vector<NodeName> names = ready_but(who);
  std::erase_if(names, [&](const NodeName& other) {
    return at(other).prepared.host == at(who).prepared.host || (who.loader && other.loader);
  });
  return names;
}

std::string Membership::misfit(const NodeName& who) const {
  for (const NodeName& other : ready_but(who)) {
    if (std::string why = differs(who, other); !why.empty()) return why;
  }
  return {};
}

std::string Membership::other_bits(const NodeName& who) const {
  for (const NodeName& other : ready_but(who)) {
    if (std::string why = differs_in_probe(who, other); !why.empty()) return why;
  }
  return {};
}

// Those that fit most others stay; of as many, those of the lower numbers.
std::vector<Membership::Unlike> Membership::unlike() const {
  std::vector<std::pair<std::size_t, NodeName>> by_misfits;
  for (const auto& [name, record] : nodes_) {
    if (record.stage < NodeStage::prepared || gone(record)) continue;
    const auto others = ready_but(name);
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
