#include "transport/collective/rounds/round_check.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace muster {

namespace {

// Groups by value: numbered in the order in which the values come. One group: all are alike.
template <class Values>
std::optional<Unlike> unlike_values(const Values& values, const std::vector<PeerId>& peers, Bits bits,
                                    std::uint64_t step) {
  Unlike found{bits, false, step, {}, {}};
  std::vector<std::uint64_t> seen;
  for (std::size_t member = 0; member < peers.size(); ++member) {
    if (!values[member]) continue;
    const auto known = std::find(seen.begin(), seen.end(), *values[member]);
    found.opinions.push_back({peers[member], static_cast<std::uint32_t>(known - seen.begin())});
    if (known == seen.end()) seen.push_back(*values[member]);
  }
  if (seen.size() < 2) return std::nullopt;
  return found;
}

// Sets of members that have agreed somewhere.
class Groups {
 public:
  explicit Groups(std::size_t members) : of_(members) { std::iota(of_.begin(), of_.end(), 0u); }
  std::uint32_t of(std::size_t member) const { return of_[member]; }
  void join(std::size_t one, std::size_t other) {
    const std::uint32_t from = of_[other], to = of_[one];
    std::replace(of_.begin(), of_.end(), from, to);
  }

  // The largest group, and who differs from a member of it; all who differ from anyone if none is larger than
  // one member. Who was compared only with one that is wrong says nothing of itself.
  std::vector<bool> against_the_largest(
      const std::vector<std::pair<std::size_t, std::size_t>>& differ) const {
    std::uint32_t largest = of_.front();
    for (const std::uint32_t group : of_) {
      if (size(group) > size(largest)) largest = group;
    }
    const bool single =
        size(largest) == 1 || std::none_of(differ.begin(), differ.end(), [&](const auto& pair) {
          return of_[pair.first] == largest || of_[pair.second] == largest;
        });
    std::vector<bool> has(of_.size());
    for (std::size_t member = 0; member < of_.size(); ++member)
      has[member] = !single && of_[member] == largest;
    for (const auto& [one, other] : differ) {
      if (single || of_[other] == largest) has[one] = true;
      if (single || of_[one] == largest) has[other] = true;
    }
    return has;
  }

 private:
  std::ptrdiff_t size(std::uint32_t group) const { return std::count(of_.begin(), of_.end(), group); }

  std::vector<std::uint32_t> of_;
};

struct Audited {
  std::size_t member;
  AuditReport report;
};

std::vector<Audited> by_shard(const std::vector<std::vector<AuditReport>>& audits) {
  std::vector<Audited> all;
  for (std::size_t member = 0; member < audits.size(); ++member) {
    for (const AuditReport& report : audits[member]) all.push_back({member, report});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Audited& a, const Audited& b) { return a.report.shard < b.report.shard; });
  return all;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// What members say of the shards of a step, two at a time.
struct Compared {
  Pairs differ, agree, agree_on_unlike;  // the last: on a shard of which others say something else
  std::vector<std::uint32_t> unlike_shards;
};

Compared compare(const std::vector<Audited>& all) {
  Compared compared;
  for (auto one = all.begin(); one != all.end();) {
    const auto end = std::find_if(
        one, all.end(), [&](const Audited& each) { return each.report.shard != one->report.shard; });
    const bool alike =
        std::all_of(one, end, [&](const Audited& each) { return each.report.hash == one->report.hash; });
    if (!alike) compared.unlike_shards.push_back(one->report.shard);
    for (; one != end; ++one) {
      for (auto other = one + 1; other != end; ++other) {
        const bool same = one->report.hash == other->report.hash;
        (same ? compared.agree : compared.differ).emplace_back(one->member, other->member);
        if (same && !alike) compared.agree_on_unlike.emplace_back(one->member, other->member);
      }
    }
  }
  return compared;
}

// Who stands against two others that agree on one shard. Such a one may be wrong at times, and agree with
// everybody on another shard.
std::vector<bool> outvoted(std::size_t members, const Compared& compared) {
  std::vector<std::vector<std::size_t>> against(members);
  for (const auto& [one, other] : compared.differ) {
    against[one].push_back(other);
    against[other].push_back(one);
  }
  std::vector<bool> found(members);
  for (const auto& [one, other] : compared.agree_on_unlike) {
    for (std::size_t member = 0; member < members; ++member) {
      const auto& those = against[member];
      const bool both = std::count(those.begin(), those.end(), one) > 0 &&
                        std::count(those.begin(), those.end(), other) > 0;
      if (both) found[member] = true;
    }
  }
  return found;
}

// By all agreements; where that makes one group of two who differ, by those alone that tell of it.
Groups grouped(std::size_t members, const Compared& compared) {
  const std::vector<bool> out = outvoted(members, compared);
  Groups groups(members);
  for (const auto& [one, other] : compared.agree) {
    if (!out[one] && !out[other]) groups.join(one, other);
  }
  const auto alike = [&](const auto& pair) { return groups.of(pair.first) == groups.of(pair.second); };
  if (std::none_of(compared.differ.begin(), compared.differ.end(), alike)) return groups;
  Groups fewer(members);
  for (const auto& [one, other] : compared.agree_on_unlike) fewer.join(one, other);
  return fewer;
}

}  // namespace

std::string Unlike::text() const {
  static constexpr const char* kNames[] = {"the records of the last round", "the weights", "the gradients"};
  std::string said = std::string(kNames[static_cast<std::size_t>(bits)]) +
                     (bits == Bits::gradient ? " of step " : " after step ") + std::to_string(step) +
                     " differ:";
  for (const Opinion& opinion : opinions) {
    said += (&opinion == &opinions.front() ? " replica " : ", replica ") + std::to_string(opinion.peer) +
            " (" + static_cast<char>('a' + opinion.group % 26) + ")";
  }
  return said;
}

std::string disagreement(const std::vector<Kept<RoundHeader>>& headers, const std::vector<PeerId>& peers,
                         std::uint32_t self) {
  const RoundHeader& mine = *headers[self];
  for (std::size_t member = 0; member < headers.size(); ++member) {
    const RoundHeader& other = *headers[member];
    if (other.kind != mine.kind || other.epoch != mine.epoch || other.step != mine.step ||
        other.applied != mine.applied) {
      return "diverged: replica " + std::to_string(peers[member]) + " is at epoch " +
             std::to_string(other.epoch) + " step " + std::to_string(other.step) + ", replica " +
             std::to_string(peers[self]) + " at epoch " + std::to_string(mine.epoch) + " step " +
             std::to_string(mine.step);
    }
  }
  return {};
}

std::optional<Unlike> unlike_headers(const std::vector<Kept<RoundHeader>>& headers,
                                     const std::vector<PeerId>& peers) {
  const auto same_record = [&](const auto& header) {
    return header->record_hash == headers.front()->record_hash;
  };
  const auto says = [](const auto& header) { return header->weights.block != WeightsHash::kNone; };
  std::vector<std::optional<std::uint64_t>> values;  // most rounds need none
  if (!std::all_of(headers.begin(), headers.end(), same_record)) {
    values.resize(headers.size());
    for (std::size_t i = 0; i < headers.size(); ++i) values[i] = headers[i]->record_hash;
    return unlike_values(values, peers, Bits::record, headers.front()->applied);
  }
  const auto one = std::find_if(headers.begin(), headers.end(), says);
  if (one == headers.end()) return std::nullopt;
  const WeightsHash& first = (*one)->weights;
  const auto same_weights = [&](const auto& header) {
    return !first.compares(header->weights) || header->weights.hash == first.hash;
  };
  if (std::all_of(headers.begin(), headers.end(), same_weights)) return std::nullopt;
  values.resize(headers.size());
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (first.compares(headers[i]->weights)) values[i] = headers[i]->weights.hash;
  }
  auto found = unlike_values(values, peers, Bits::weights, first.step);
  if (found) found->first = headers.front()->kind == RoundKind::check;
  return found;
}

std::optional<Unlike> unlike_gradients(const std::vector<std::vector<AuditReport>>& audits,
                                       const std::vector<PeerId>& peers, std::uint64_t step) {
  const auto silent = [](const auto& reports) { return reports.empty(); };
  if (std::all_of(audits.begin(), audits.end(), silent)) return std::nullopt;
  const std::vector<Audited> all = by_shard(audits);
  Unlike found{Bits::gradient, false, step, {}, {}};
  const Compared compared = compare(all);
  if (compared.differ.empty()) return std::nullopt;
  found.shards = compared.unlike_shards;
  const Groups groups = grouped(peers.size(), compared);
  const auto opinions = groups.against_the_largest(compared.differ);
  for (std::size_t member = 0; member < peers.size(); ++member) {
    if (opinions[member]) found.opinions.push_back({peers[member], groups.of(member)});
  }
  return found;
}

}  // namespace muster
