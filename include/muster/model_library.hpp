// A shared library of models: `[model] library = "libmine.so"` in a job takes its model from it, without a
// program of one's own. One source file of the library holds
//
//   #include "muster/model_library.hpp"
//
//   std::unique_ptr<muster::Model> make_mine(const muster::Options&, const muster::ModelContext&);
//
//   MUSTER_MODEL_LIBRARY(registry) {
//     registry.add_model("mine", {}, make_mine);
//   }
//
// and the library is a CMake MODULE that links to Muster::muster. It is built with the same compiler and
// against the same Muster as the program that loads it: between the two is C++, and the interface below only
// tells apart what is known to be different. See examples/model_library.
//
// A process loads a library at most once, and never unloads it. The content of the file is part of the job's
// hash: a replica with another build of the library is refused.
#pragma once

#include "muster/registry.hpp"

namespace muster {

/// Rises with every change of what a library and its program must agree on: Registry, Model, Batch, Options.
constexpr int kModelLibraryInterface = 1;

}  // namespace muster

/// Begins the function that registers the library's models; once in a library. What it throws refuses the
/// job, with its words.
#define MUSTER_MODEL_LIBRARY(registry)                                         \
  extern "C" {                                                                 \
  extern const int muster_model_library_interface;                             \
  const int muster_model_library_interface = ::muster::kModelLibraryInterface; \
  void muster_register_models(::muster::Registry&);                            \
  }                                                                            \
  void muster_register_models([[maybe_unused]] ::muster::Registry& registry)
