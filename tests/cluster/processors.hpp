// Environments in which libtorch and its libraries compute other bits than in each other.
#pragma once

#include "tests/cluster/muster_process.hpp"

namespace muster::cluster_test {

// As on an old processor: matrix products without fused multiplication and addition. libtorch's own kernels
// stay, for with others it draws other initial weights, too.
inline const Environment kOld{{"OPENBLAS_CORETYPE", "Nehalem"},
                              {"MKL_CBWR", "COMPATIBLE"},
                              {"DNNL_MAX_CPU_ISA", "SSE41"},
                              {"ATEN_CPU_CAPABILITY", "avx2"}};
inline const Environment kNewer{{"OPENBLAS_CORETYPE", "Haswell"},
                                {"MKL_CBWR", "AVX2"},
                                {"DNNL_MAX_CPU_ISA", "AVX2"},
                                {"ATEN_CPU_CAPABILITY", "avx2"}};

}  // namespace muster::cluster_test
