// Formulas over 16-bit and 8-bit floats compute in f32 and round once, at their end.
#pragma once

#include "lamella/ops/math/cast.h"

namespace lamella {

inline Value as_dtype(Value x, DType type) { return x.dtype() == type ? x : cast(x, {.to = type}); }
// The type that a formula over this float type computes in.
inline DType wide_dtype(DType type) { return type == kF64 ? kF64 : kF32; }
inline Value wide(Value x) { return as_dtype(x, wide_dtype(x.dtype())); }

}  // namespace lamella
