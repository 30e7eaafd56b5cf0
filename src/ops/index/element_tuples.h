// From positions along one axis to the tuples that gather_nd and scatter_nd take.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// Tuples [..., rank]: element i of `indices` along `axis`, the indices of that element along the
// other axes.
Value element_tuples(Value indices, int64_t axis);

// Checks that `indices` (input 1) hold positions along an axis of x (input 0) and lie within x
// along the others; gives the axis, not negative.
int64_t check_element_indices(TypeCx& cx, int64_t axis);

}  // namespace lamella
