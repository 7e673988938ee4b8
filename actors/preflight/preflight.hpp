// Everything that is looked at before anything starts: the job's own rules, the devices, the data, the model.
// `run` and `plan` both stand on it, so what `plan` accepts, `run` starts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "actors/contract/contract.hpp"
#include "actors/messages/messages.hpp"
#include "config/placement.hpp"
#include "gpu/host_memory.hpp"
#include "gpu/measured_memory.hpp"
#include "muster/job.hpp"
#include "muster/mistake.hpp"
#include "muster/model.hpp"
#include "muster/registry.hpp"

namespace muster {

/// What of the contract check was done.
struct ContractDone {
  std::vector<std::string> done;
  std::vector<ContractLog::LeftOut> left_out;
  std::chrono::milliseconds took{0};
};

struct Preflight {
  std::vector<Mistake> mistakes;  ///< not empty: nothing else holds
  Job job;                        ///< with defaults filled in
  Placement placement;
  DataFacts facts;
  std::vector<std::uint64_t> samples_of_shard;  ///< of an epoch; empty where the length is unknown
  std::uint64_t micro_batch_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint32_t prefetch_depth =
      0;  ///< what data.memory leaves of data.prefetch, on the node with most shards
  Layout layout;
  std::size_t optimizer_slots = 0;
  bool sums_on_gpus = false;  ///< as View::sums_on_gpus, as far as this machine's UCX tells
  // Memory (memory_plan.hpp). What is not known is not checked.
  MeasuredMemory host_batch, gpu_batch;           ///< of one micro-batch's forward and backward pass
  HostMemoryRoom host_room;                       ///< that is available on this machine
  std::map<std::string, std::uint64_t> gpu_room;  ///< of each GPU: what is free, or all that it has
  ContractDone contract;                          ///< of model and sources; empty with Trial::nowhere
};

/// Where a micro-batch is computed to see what memory it takes. A process that has been on a GPU holds some
/// hundred MiB of it until it ends.
enum class Trial { nowhere, on_host, everywhere };

/// Opens the data and builds the model once, checks that both keep their contracts (not with
/// Trial::nowhere), and lets go of them. `places`: of the job file, for the mistakes.
Preflight preflight(const Job& job, const Places& places, const Registry& registry,
                    Trial trial = Trial::on_host, const ContractScope& scope = {});

struct NodeWork {
  bool computes = true, loads = true;
};

/// What a node that comes by itself checks before it is ready, on its own host: that what it computes with
/// and what it reads keep their contracts. On GPUs nothing is computed. Throws Error.
void check_contract_of_node(const Job& job, const Registry& registry, NodeWork work,
                            const ContractScope& scope = {});

/// Adds notices of keys without effect. preflight() has done so, with the places that it was given.
void add_key_notices(const Places& places, Trial trial, Preflight& flight);

}  // namespace muster
