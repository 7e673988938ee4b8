// Memberships of nodes that have joined, for the tests of their rules.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "actors/rules/membership/membership.hpp"
#include "transport/frame.hpp"

namespace muster {

inline constexpr NodeName kReplica0{false, 0}, kReplica1{false, 1}, kReplica2{false, 2}, kLoader0{true, 0};

inline Job job_of(std::uint32_t replicas, std::uint32_t loaders) {
  Job job;
  job.train.shards = 5;
  job.cluster.replicas = replicas;
  job.cluster.loaders = loaders;
  return job;
}

inline Join join_of(const NodeName& name) {
  Join join;
  join.protocol = kProtocolVersion;
  join.name = name;
  join.pid = 100 + name.slot;
  join.incarnation = 7000ull + name.slot;
  return join;
}

inline Prepared prepared_of(const NodeName& name) {
  Prepared message;
  message.name = name;
  message.address = "at " + name.text();
  message.state_sha256 = name.loader ? "" : "aa";
  message.loads = name.loader;
  message.facts.samples = name.loader ? 99 : -1;
  return message;
}

inline Membership joined_membership(std::uint32_t replicas, std::uint32_t loaders, std::uint32_t least = 1) {
  Job job = job_of(replicas, loaders);
  job.cluster.min_replicas = least;
  Membership membership(job);
  for (std::uint32_t i = 0; i < replicas; ++i)
    EXPECT_EQ(membership.admission().join(join_of({false, i})).refusal, "");
  for (std::uint32_t i = 0; i < loaders; ++i)
    EXPECT_EQ(membership.admission().join(join_of({true, i})).refusal, "");
  return membership;
}

inline Membership membership_in_view(std::uint32_t replicas, std::uint32_t loaders, View& view,
                                     std::uint32_t least = 1) {
  Membership membership = joined_membership(replicas, loaders, least);
  for (const auto& [name, record] : std::map(membership.nodes().all()))
    membership.admission().prepared(prepared_of(name));
  view = membership.views().first();
  membership.entered(view);
  for (const auto& [name, record] : std::map(membership.nodes().all())) membership.installed(name);
  return membership;
}

inline NodeName newcomer(Membership& membership, bool loader = false) {
  Join join = join_of({loader, 77});
  join.joins = true;
  const auto admission = membership.admission().join(join);
  EXPECT_EQ(admission.refusal, "");
  EXPECT_EQ(membership.admission().prepared(prepared_of(admission.name)), "");
  return admission.name;
}

/// All members close the view, and hold so many records.
inline void close_all(Membership& membership, const View& view, std::uint64_t records) {
  for (const NodeName& name : membership.begin_close())
    membership.closed({name, view.number, name.loader ? 0 : records, records});
}

/// A run of two replicas whose only loader is lost, and that have closed the view.
inline Membership without_loaders(OnLoaderLoss policy, bool replica1_reads, View& view,
                                  std::uint32_t least = 1) {
  Job job = job_of(2, 1);
  job.cluster.on_loader_loss = policy;
  job.cluster.min_replicas = least;
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1, kLoader0}) {
    EXPECT_EQ(membership.admission().join(join_of(name)).refusal, "");
    Prepared prepared = prepared_of(name);
    prepared.loads = name != kReplica1 || replica1_reads;
    prepared.facts = prepared_of(kLoader0).facts;
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  }
  view = membership.views().first();
  membership.entered(view);
  EXPECT_TRUE(membership.nodes().any_loader());
  membership.lost(kLoader0);
  EXPECT_FALSE(membership.nodes().any_loader());
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) membership.closed({name, view.number, 4, 4});
  return membership;
}

}  // namespace muster
