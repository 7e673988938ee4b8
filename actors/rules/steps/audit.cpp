#include "actors/rules/steps/audit.hpp"

#include "actors/rules/stragglers/straggler_policy.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// The shards of a member, beginning with another one at each turn.
std::vector<std::uint32_t> shards_from(const Member& member, std::uint64_t turn) {
  std::vector<std::uint32_t> shards;
  const std::uint32_t count = member.end - member.begin;
  for (std::uint32_t i = 0; i < count; ++i)
    shards.push_back(member.begin + static_cast<std::uint32_t>((turn + i) % count));
  return shards;
}

}  // namespace

bool may_audit(const Job& job) {
  return job.train.audit.every > 0 && !job.train.shards_have_state() &&
         job.cluster.reproducible != Reproducible::loose && !straggler_policy(job.cluster).backup_tasks;
}

std::uint64_t audit_every(const Job& job, const View& view) {
  const bool cannot = !may_audit(job) || view.facts.samples < 0 || view.sums_on_gpus ||
                      view.replicas.size() < 2 || canary("no-audit");
  return cannot ? 0 : job.train.audit.every;
}

std::vector<Audit> audits_of(const std::vector<Member>& replicas, const std::set<std::uint32_t>& unproven,
                             std::uint64_t step, std::uint64_t every) {
  std::vector<Audit> audits;
  const std::size_t count = replicas.size();
  if (every == 0 || count < 2) return audits;
  const auto audit = [&](std::size_t owner, std::size_t auditor, std::uint64_t turn) {
    audits.push_back(
        {replicas[owner].name.slot, replicas[auditor % count].name.slot, shards_from(replicas[owner], turn)});
  };
  if (!unproven.empty()) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!unproven.contains(replicas[i].name.slot)) continue;
      audit(i, i + 1, step);
      if (count > 2) audit(i, i + 2, step);  // or nobody knows which of two is wrong
    }
    return audits;
  }
  if (step % every != 0) return audits;
  const std::uint64_t turn = step / every, round = turn / count;
  const std::size_t owner = turn % count;
  audit(owner, owner + 1 + round % (count - 1), round);
  return audits;
}

}  // namespace muster
