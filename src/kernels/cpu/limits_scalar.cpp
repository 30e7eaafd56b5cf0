// The loops that measure scalar.
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/unit_scalar.h"

namespace lamella::cpu {

const LimitLoops scalar::kLimits = limit_loops<Scalar>();

}  // namespace lamella::cpu
