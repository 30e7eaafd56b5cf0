// The loops that measure avx2.
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"

namespace lamella::cpu {

const LimitLoops avx2::kLimits = limit_loops<Avx2>();

}  // namespace lamella::cpu
