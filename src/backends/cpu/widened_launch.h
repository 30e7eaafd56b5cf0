// A launch for f16 and bf16 from one for f32.
#pragma once

#include "lamella/backends/planned/row.h"

namespace lamella::cpu {

using Launch = planned::Status (*)(const planned::StepCx&);

// Operands of f16 and bf16 are widened in front of `launch` and outputs rounded behind it; where
// there are none, it is called as it is. Not for rows with work at compile time.
planned::Status launch_in_f32(const planned::StepCx& cx, Launch launch);

template <Launch launch>
planned::Status in_f32(const planned::StepCx& cx) {
  return launch_in_f32(cx, launch);
}

// The same, and f64 as it is: L::run<T>(cx) for T float or double, by the type of input 1.
template <class L>
planned::Status in_f32_or_f64(const planned::StepCx& cx) {
  return cx.in(1).dtype == kF64 ? L::template run<double>(cx)
                                : launch_in_f32(cx, L::template run<float>);
}

// Do rows of such a launch take this type?
bool is_f32_or_narrower(DType dtype);

}  // namespace lamella::cpu
