#include "actors/rules/steps/other_bits.hpp"

namespace muster {

std::string why_other_bits(const Prepared& one, const Prepared& other) {
  if (one.computes_with == other.computes_with) {
    return "both compute with " + one.computes_with +
           ": is a library, or the program, of another version on one of their hosts?";
  }
  // The least that x86-64 servers of the last ten years have in common, in the words of each library.
  return one.name.text() + " computes with " + one.computes_with + "; " + other.name.text() + " with " +
         other.computes_with +
         ". Give them the same hardware and libraries; or, where only their processors differ, let the "
         "libraries "
         "choose the same kernels on all: OPENBLAS_CORETYPE=Haswell MKL_CBWR=AVX2 DNNL_MAX_CPU_ISA=AVX2 "
         "ATEN_CPU_CAPABILITY=avx2 in the environment of every replica";
}

}  // namespace muster
