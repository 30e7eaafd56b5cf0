#pragma once

#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

struct Gather {
  static constexpr Info info{.name = "gather",
                             .inputs = "x, indices",
                             .outputs = "y",
                             .doc =
                                 "The slices of x at these positions along axis; the axes of "
                                 "indices take the place of that axis. Negative "
                                 "indices count from the end; others outside are an error. x may "
                                 "be encoded along another axis: y is then "
                                 "f32, the decoded values.",
                             .traits = kTakesEncoded};
  struct Attrs {
    int64_t axis = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_int(1);
    const Shape &x = cx.shape(0), &indices = cx.shape(1);
    const int64_t axis = cx.axis(a.axis, x.rank());
    require_not_block_axis(cx, 0, axis);
    Shape y(std::vector<Dim>(x.begin(), x.begin() + axis));
    y.dims.insert(y.dims.end(), indices.begin(), indices.end());
    y.dims.insert(y.dims.end(), x.begin() + axis + 1, x.end());
    cx.out(cx.in(0).dtype.is_block() ? kF32 : cx.in(0).dtype, std::move(y));
  }
  // Of x, only what becomes y.
  static Dim bytes(const Graph& g, const Node& n) {
    return n.outputs[0].bytes() * 2 + g.type(n.inputs[1]).bytes();
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor &x = cx.in(0), &indices = cx.in(1);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    RefTensor& y = cx.out(0);
    const int64_t inner = strides_of(x.shape)[axis], n = indices.numel(), size = x.shape[axis];
    std::vector<int64_t> rows;
    for (size_t i = 0; i < indices.i.size(); ++i)
      rows.push_back(checked_index(cx, indices.i[i], size, i));
    move_elements(x, y, [&](size_t o) {
      const int64_t flat = static_cast<int64_t>(o), outer = flat / (n * inner),
                    rest = flat % (n * inner);
      return (outer * size + rows[static_cast<size_t>(rest / inner)]) * inner + rest % inner;
    });
  }
  static void value(ValueCx& cx, const Attrs&) {
    const ShapeValue *x = cx.known(0), *indices = cx.known(1);
    if (!x || !indices || cx.in(0).rank() != 1) return;
    const int64_t n = static_cast<int64_t>(x->size());
    ShapeValue y;
    for (Dim d : *indices) {
      if (!d.is_const() || d.value() < -n || d.value() >= n) return;
      y.push_back((*x)[static_cast<size_t>(d.value() < 0 ? d.value() + n : d.value())]);
    }
    cx.set(0, std::move(y));
  }
  // Adds the rows of the gradient at their positions, with the axis brought to the front.
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Shape x = cx.in(0).shape();
    if (cx.in(0).dtype().is_block()) return;
    const int64_t rank = static_cast<int64_t>(x.rank()), axis = a.axis < 0 ? a.axis + rank : a.axis;
    const int64_t n = static_cast<int64_t>(cx.in(1).shape().rank());
    std::vector<int64_t> to_front, back;
    for (int64_t i = 0; i < n; ++i) to_front.push_back(axis + i);
    for (int64_t i = 0; i < axis; ++i) to_front.push_back(i), back.push_back(i + 1);
    back.push_back(0);
    for (int64_t i = axis + 1; i < rank; ++i) to_front.push_back(i - 1 + n), back.push_back(i);
    Shape front{x[axis]};
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis) front.dims.push_back(x[i]);
    Value g = cx.grad();
    const DType dtype = g.dtype();
    if (axis != 0) g = transpose(g, {.perm = to_front});
    const Value zeros = full(cx.graph(), front, dtype, 0);
    const Value sum =
        scatter_nd(zeros, unsqueeze(cx.in(1), {.axes = {-1}}), g, {.mode = Scatter::add});
    cx.set(0, axis == 0 ? sum : transpose(sum, {.perm = back}));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {5, 7}}, at({3}, {4, 0, -5})}, Attrs{}).length = 3;
    s.add({In{.shape = {2, 5, 3}}, at({2, 2}, {1, 1, -1, 0})}, Attrs{1}).length = 2;
    s.add({In{.shape = {2, 5, 3}}, at({}, {2})}, Attrs{-1});
    s.add({In{.shape = {4, 3}}, at({0}, {})}, Attrs{});
    s.add({In{.shape = {0, 3}}, at({2}, {0, 2})}, Attrs{1});
    s.add({In{.shape = {9}}, In{.shape = {3, 2}, .dtype = kI32, .domain = {-9, 8}}}, Attrs{})
        .length = 6;
    for (const char* format : {"q4_0", "q8_0", "q6_k", "mlx_affine6_g64_f16", "mlx_mxfp8"})
      s.add({In{.shape = {5, 256}, .dtype = find_dtype(format)}, at({2, 2}, {4, 0, 0, -1})},
            Attrs{});
    s.expect("NumPy 2.4.6 take",
             {In{.shape = {2, 3}, .dtype = kI32, .values = {1, 2, 3, 4, 5, 6}}, at({2}, {2, -3})},
             Attrs{1}, {Expect{{2, 2}, {3, 1, 6, 4}}});
    s.bad({In{.shape = {3, 2}}, at({2}, {0, 3})}, Attrs{},
          "index out of range; got 3 at element 1");
    s.bad({In{.shape = {3, 2}}, at({1}, {-4})}, Attrs{}, "index out of range; got -4");
    s.bad({In{.shape = {3, 2}}, at({1}, {0})}, Attrs{2}, "axis out of range");
    s.bad({In{.shape = {3, 2}}, In{.shape = {1}, .dtype = kF32}}, Attrs{}, "does not hold indices");
    s.bad({In{.shape = {2, 64}, .dtype = find_dtype("q8_0")}, at({1}, {0})}, Attrs{1},
          "stays whole");
  }
};
inline constexpr Call<Gather> gather;

}  // namespace lamella
