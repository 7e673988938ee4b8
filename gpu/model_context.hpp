// What a model is made for: the device and the threads of one replica, and what it computes in.
#pragma once

#include <string>

namespace muster {

struct ModelContext {
  /// "cpu" or "cpu:K" (the caller pins the thread), or "cuda:K", the K-th visible card: then states,
  /// gradients and all else that the model is given but for batches lie in that card's memory.
  std::string device = "cpu";
  int threads = 1;  ///< compute threads of the replica; part of the mathematics, equal on every node
  /// Forward passes in mixed precision; part of the mathematics. Asked only of a model that takes it
  /// (Model::takes_bfloat16).
  bool bfloat16 = false;
  /// On a card: the cudaStream_t that all of the model's work is put on, in order, and that outlives the
  /// model; null stands for the card's default stream.
  void* stream = nullptr;
};

}  // namespace muster
