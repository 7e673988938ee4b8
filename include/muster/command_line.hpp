// The whole command line, for an embedding program: `return muster::main(argc, argv, registry);` gives it
// run, plan, bench and the rest with its own models and sources. Its replica processes are the same
// executable, started again.
//
//   #include "muster/command_line.hpp"
//
//   std::unique_ptr<muster::Model> make_mine(const muster::Options&, const muster::ModelContext&);
//
//   int main(int argc, char** argv) {
//     muster::Registry registry = muster::builtin_registry();
//     registry.add_model("mine", {}, make_mine);
//     return muster::main(argc, argv, registry);  // run, plan, check, bench, ...
//   }
#pragma once

#include "muster/registry.hpp"

namespace muster {

/// Exit codes: 0 completed; 1 the run failed; 2 the command line or the job file is wrong; 130, 143
/// interrupted.
int main(int argc, char** argv, const Registry& registry);

}  // namespace muster
