// Vectors [batch, dim] that serve every row of their entry of a tensor [batch, ..., dim].
#pragma once

#include "lamella/ops/nn/wide.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

// Input x is [batch, ..., dim], input `vectors` floats [batch, dim].
inline void check_batch_rows(TypeCx& cx, size_t x, size_t vectors) {
  cx.require_float(vectors), cx.require_rank(vectors, 2);
  const Shape &of_x = cx.shape(x), &v = cx.shape(vectors);
  cx.check(of_x.rank() >= 2, "wants ", cx.input_name(x), " of rank 2 or more; got ", cx.in(x));
  cx.require_equal(v[0], of_x[0],
                   str("batches of ", cx.input_name(x), " and ", cx.input_name(vectors)));
  cx.require_equal(v[1], of_x.last(),
                   str("last sizes of ", cx.input_name(x), " and ", cx.input_name(vectors)));
}

// The vectors with the axes and the type of x.
inline Value over_batch(Value vectors, Value x) {
  Shape shape(std::vector<Dim>(x.shape().rank(), Dim(1)));
  shape[0] = vectors.shape()[0], shape[-1] = vectors.shape()[1];
  return as_dtype(reshape_to(vectors, shape), x.dtype());
}

}  // namespace lamella
