#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Mean {
  static constexpr Info info{
      .name = "mean",
      .inputs = "x",
      .outputs = "y",
      .doc = "Sum over the axes (all without axes) over the number of elements; NaN of none.",
      .ulps = 2,
      .ulps_per_length = 0.5};
  using Attrs = ReduceAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float(), "takes floating-point tensors; got ", cx.in(0));
    cx.out(cx.in(0).dtype, reduced_shape(cx, a));
  }
  static Value expand(const Args& x, const Attrs& a) {
    const Shape shape = x[0].shape();
    const std::vector<bool> reduced = reduced_axes(a, shape.rank());
    Dim count = 1;
    for (size_t i = 0; i < shape.rank(); ++i)
      if (reduced[i]) count = count * shape.dims[i];
    const Value total = sum(widened(x[0]), a);
    const Value mean =
        count.is_const()
            ? total / static_cast<double>(count.value())
            : total / cast(reshape_to(x.graph().sizes({count}), Shape{}), {.to = total.dtype()});
    return narrowed(mean, x[0].dtype());
  }
  static void samples(Samples& s) {
    add_reduction_samples(s, {});
    const std::vector<double> x{-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5,
                                0.0,  0.5,  1.0,  1.5,  2.0,  2.5,  3.0,  3.5};
    s.expect("CPython 3.11 statistics.fmean", {In{.shape = {2, 8}, .values = x}},
             ReduceAttrs{.axes = {1}, .keep = true}, {Expect{{2, 1}, {-2.25, 1.75}}});
    s.expect("CPython 3.11 statistics.fmean", {In{.shape = {2, 2, 4}, .values = x}},
             ReduceAttrs{.axes = {0, -1}}, {Expect{{2}, {-1.25, 0.75}}});
  }
};
inline constexpr Call<Mean> mean;

}  // namespace lamella
