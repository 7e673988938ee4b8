#include "config/schema/schema_reduce.hpp"

#include "config/schema/binding.hpp"
#include "config/schema/schema_terms.hpp"

namespace muster {

using binding::bind;
using namespace terms;

// The accessor of a member, for const and other jobs alike.
#define MUSTER_MEMBER(member) \
  [](auto& job) -> auto& {    \
    return job.member;        \
  }

std::vector<Key> reduce_keys() {
  return {
      bind(key("reduce.algorithm", one_of({"auto", "direct", "halving_doubling", "hierarchical", "one_shot"}),
               "How gradients are summed up; all give the same bits. `auto` chooses by the size of the model "
               "and by who shares a host with whom; `muster bench allreduce --algorithm all` measures."),
           MUSTER_MEMBER(reduce.algorithm)),
      bind(key("reduce.bucket", or_auto(at_least(ValueType::size, 64)),
               "Gradients go out in buckets of this size while the backward pass goes on. Smaller buckets "
               "are sent sooner, and cost more messages. With a bucket of the model's size or more, the "
               "whole gradient is sent after the pass. `auto`: an eighth of the model within 256KiB and "
               "4MiB, or 256KiB for each replica if that is more."),
           MUSTER_MEMBER(reduce.bucket_bytes)),
      bind(key("reduce.gpu_direct", of(ValueType::boolean),
               "**Experimental: it has run on one GPU only, for minutes.** Sums go from GPU to GPU where UCX "
               "moves the memory of GPUs (`muster devices` says so). When false, they go through the host's "
               "memory, with the same bits."),
           MUSTER_MEMBER(reduce.gpu_direct)),
  };
}

#undef MUSTER_MEMBER

}  // namespace muster
