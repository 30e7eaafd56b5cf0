// The gradient of slice, which needs slice_update as that needs slice.
#include "lamella/ops/shape/slice.h"

#include "lamella/ops/shape/slice_update.h"

namespace lamella {

void Slice::vjp(VjpCx& cx, const Attrs& a) {
  const Value g = cx.grad();
  const Value zeros = full(cx.graph(), cx.in(0).shape(), g.dtype(), 0);
  cx.set(0, slice_update(zeros, g, cx.in(1), cx.in(2), a));
}

}  // namespace lamella
