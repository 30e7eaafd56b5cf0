// The loops that measure neon.
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/unit_neon.h"

namespace lamella::cpu {

const LimitLoops neon::kLimits = limit_loops<Neon>();

}  // namespace lamella::cpu
