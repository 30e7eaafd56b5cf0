// The loops that measure avx512.
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {

const LimitLoops avx512::kLimits = limit_loops<Avx512>();

}  // namespace lamella::cpu
