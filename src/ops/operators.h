// Arithmetic on values for writing formulas: x * w + 1.0. A number becomes a constant of the other side's type.
#pragma once

#include "lamella/ops/math/add.h"
#include "lamella/ops/math/mul.h"

namespace lamella {

inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator+(Value a, double b) { return add(a, a.graph->scalar(a.dtype(), b)); }
inline Value operator+(double a, Value b) { return add(b.graph->scalar(b.dtype(), a), b); }
inline Value operator*(Value a, Value b) { return mul(a, b); }
inline Value operator*(Value a, double b) { return mul(a, a.graph->scalar(a.dtype(), b)); }
inline Value operator*(double a, Value b) { return mul(b.graph->scalar(b.dtype(), a), b); }

}  // namespace lamella
