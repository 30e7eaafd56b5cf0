// Arithmetic on values for writing formulas: x * w + 1.0. A number becomes a constant of the other
// side's type.
#pragma once

#include "lamella/ops/math/add.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/sub.h"

namespace lamella {

// A rank-0 constant of the type of `x`.
inline Value scalar_like(Value x, double value) { return x.graph->scalar(x.dtype(), value); }

inline Value operator-(Value x) { return neg(x); }

inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return sub(a, b); }
inline Value operator*(Value a, Value b) { return mul(a, b); }
inline Value operator/(Value a, Value b) { return div(a, b); }

inline Value operator+(Value a, double b) { return add(a, scalar_like(a, b)); }
inline Value operator-(Value a, double b) { return sub(a, scalar_like(a, b)); }
inline Value operator*(Value a, double b) { return mul(a, scalar_like(a, b)); }
inline Value operator/(Value a, double b) { return div(a, scalar_like(a, b)); }

inline Value operator+(double a, Value b) { return add(scalar_like(b, a), b); }
inline Value operator-(double a, Value b) { return sub(scalar_like(b, a), b); }
inline Value operator*(double a, Value b) { return mul(scalar_like(b, a), b); }
inline Value operator/(double a, Value b) { return div(scalar_like(b, a), b); }

}  // namespace lamella
