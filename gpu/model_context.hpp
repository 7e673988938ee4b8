// What a model is made for: the device and the threads of one replica.
#pragma once

#include <string>

namespace muster {

struct ModelContext {
  std::string device = "cpu";  ///< "cpu"; the models of this version compute on the CPU only
  int threads = 1;  ///< compute threads of the replica; part of the mathematics, equal on every node
};

}  // namespace muster
