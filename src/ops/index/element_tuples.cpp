#include "lamella/ops/index/element_tuples.h"

#include "lamella/ops/math/cast.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

Value element_tuples(Value indices, int64_t axis) {
  const Shape shape = indices.shape();
  Values columns;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.rank()); ++i) {
    Value column = indices;
    if (i != axis) {
      Shape along(std::vector<Dim>(shape.rank(), Dim(1)));
      along[i] = shape[i];
      column =
          expand_to(reshape_to(iota_of(*indices.graph, shape[i], indices.dtype()), along), shape);
    }
    columns.push_back(unsqueeze(column, {.axes = {-1}}));
  }
  return concat(columns, {.axis = -1});
}

int64_t check_element_indices(TypeCx& cx, int64_t axis) {
  cx.require_int(1);
  const Shape &x = cx.shape(0), &indices = cx.shape(1);
  cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
  cx.check(x.rank() == indices.rank(), "x and indices have different ranks; got ", cx.in(0),
           " and ", cx.in(1));
  axis = cx.axis(axis, x.rank());
  for (int64_t i = 0; i < static_cast<int64_t>(x.rank()); ++i)
    if (i != axis)
      cx.require_at_least(x[i], indices[i],
                          str("size of x at axis ", i, ", beside that of indices"));
  return axis;
}

}  // namespace lamella
