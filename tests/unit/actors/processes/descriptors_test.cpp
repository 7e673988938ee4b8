#include "actors/processes/descriptors.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/preflight/preflight.hpp"
#include "muster/job_file.hpp"

namespace muster {
namespace {

Job job_with(std::uint32_t replicas, std::uint32_t loaders = 0) {
  Job job;
  job.cluster.replicas = replicas;
  job.cluster.loaders = loaders;
  return job;
}

/// What `child` answers in a process of its own, whose limits are its own.
template <class Child>
int in_a_child(Child&& child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void limit(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(99);
}

TEST(Descriptors, EachPeerNeedsThree) {
  EXPECT_EQ(descriptors_of_node(job_with(5)) - descriptors_of_node(job_with(4)), 3u);
  EXPECT_EQ(descriptors_of_node(job_with(4, 1)) - descriptors_of_node(job_with(4)), 3u);
  EXPECT_EQ(descriptors_of_coordinator(job_with(5), false) - descriptors_of_coordinator(job_with(4), false),
            2u);
  EXPECT_GT(descriptors_of_coordinator(job_with(8), true), 8 * descriptors_of_node(job_with(8)));
}

TEST(Descriptors, WhatIsMissingIsNamedWithTheWayOut) {
  EXPECT_FALSE(too_few_descriptors(100, 100));
  const auto why = too_few_descriptors(101, 100);
  ASSERT_TRUE(why);
  for (const char* part : {"101", "100", "ulimit -n 101"}) EXPECT_NE(why->find(part), std::string::npos);
}

TEST(Descriptors, TheSoftLimitIsRaisedToTheHardOne) {
  EXPECT_EQ(in_a_child([] {
              limit(40, 80);
              if (raise_descriptor_limit() != 80) return 1;
              rlimit now{};
              ::getrlimit(RLIMIT_NOFILE, &now);
              return now.rlim_cur == 80 && descriptors_allowed() == 80 ? 0 : 2;
            }),
            0);
}

TEST(Descriptors, AJobThatNeedsMoreThanTheHardLimitIsRefused) {
  const Registry registry = builtin_registry();
  const ParsedJob parsed = read_job_text(
      "[model]\nname = \"linear\"\ninputs = 8\noutputs = 3\n[data]\nsource = \"synthetic\"\nsamples = 64\n"
      "inputs = 8\noutputs = 3\n[train]\nshards = 64\n[cluster]\nreplicas = 64\n",
      "job.toml", {}, registry.declarations());
  ASSERT_TRUE(parsed.job) << render(parsed.mistakes);
  const auto refused = [&](rlim_t hard) {
    return in_a_child([&] {
      limit(hard, hard);
      ContractScope unchecked;
      unchecked.budget = {};
      // Without threads: sanitizers do not follow those of a process that was forked.
      const Preflight flight = preflight(*parsed.job, parsed.places, registry, Trial::on_host, unchecked);
      const std::string said = render(flight.mistakes);
      return said.find("cluster.replicas: a process may need 253 file descriptors") != std::string::npos ? 1
                                                                                                         : 0;
    });
  };
  EXPECT_EQ(refused(252), 1);
  EXPECT_EQ(refused(253), 0);
}

}  // namespace
}  // namespace muster
