#include "lamella/ops/shape/pad.h"

#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/slice_update.h"

namespace lamella {
namespace {

// A size as an i64 of rank 0.
Value number(Graph& graph, Dim d) { return reshape_to(graph.sizes({d}), Shape{}); }

// Positions in an axis of size n that the padded axis takes its elements from.
Value sources(Graph& graph, PadMode mode, Dim before, Dim n, Dim size) {
  const Value i = iota_of(graph, size) - number(graph, before);
  if (mode == PadMode::wrap) return mod(i, number(graph, n));
  const Value last = number(graph, n - 1);
  if (mode == PadMode::edge) return minimum(maximum(i, scalar_like(i, 0)), last);
  // There and back again; an axis of one element has a way of length 0, and i mod 0 is 0.
  const Value way = last * 2.0, at = mod(i, way);
  return minimum(at, way - at);
}

// x without what negative pads cut off.
Value cropped(Value x, const Pad::Attrs& a) {
  for (size_t i = 0; i < a.before.rank(); ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    const Dim start = dim_max(0 - a.before.dims[i], 0), n = x.shape()[axis];
    const Dim end = n - dim_max(0 - a.after.dims[i], 0);
    if (!start.is(0) || !(end == n)) x = slice_axis(x, axis, start, end);
  }
  return x;
}

Value with_constant(Value x, const Shape& y, const Pad::Attrs& a) {
  x = cropped(x, a);
  if (x.shape() == y) return x;
  ShapeValue starts, ends;
  for (size_t i = 0; i < y.rank(); ++i) {
    starts.push_back(dim_max(a.before.dims[i], 0));
    ends.push_back(starts.back() + x.shape().dims[i]);
  }
  Graph& g = *x.graph;
  return slice_update(full(g, y, x.dtype(), a.value), x, g.sizes(starts), g.sizes(ends),
                      {.axes = {}, .steps = {}, .strict = true});
}

}  // namespace

void Pad::type(TypeCx& cx, const Attrs& a) {
  const Shape& x = cx.shape(0);
  const DType t = cx.in(0).dtype;
  cx.check(t.is_float() || t.is_int() || t.is_bool(), "takes bool and numbers; got ", cx.in(0));
  cx.check(a.before.rank() == x.rank() && a.after.rank() == x.rank(),
           "wants one number before and one after each axis; got ", a.before, " and ", a.after,
           " for ", cx.in(0));
  Shape y = x;
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim before = a.before.dims[i], after = a.after.dims[i];
    y.dims[i] = x.dims[i] + before + after;
    if (before.is(0) && after.is(0)) continue;
    cx.require_at_least(x.dims[i] + dim_min(before, 0) + dim_min(after, 0), 0,
                        str("size left of axis ", i));
    if (a.mode != PadMode::constant)
      cx.require_at_least(x.dims[i], 1, str("elements to repeat along axis ", i));
  }
  cx.out(t, std::move(y));
}

Value Pad::expand(const Args& args, const Attrs& a) {
  Value x = args[0];
  Shape y = x.shape();
  for (size_t i = 0; i < y.rank(); ++i) y.dims[i] = y.dims[i] + a.before.dims[i] + a.after.dims[i];
  if (a.mode == PadMode::constant) return with_constant(x, y, a);
  for (size_t i = 0; i < y.rank(); ++i) {
    if (a.before.dims[i].is(0) && a.after.dims[i].is(0)) continue;
    const Value from =
        sources(args.graph(), a.mode, a.before.dims[i], x.shape().dims[i], y.dims[i]);
    x = gather(x, from, {.axis = static_cast<int64_t>(i)});
  }
  return x;
}

void Pad::samples(Samples& s) {
  s.types(kAnyTypes);
  for (PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap}) {
    s.add({In{.shape = {2, 5, 3}}}, Attrs{{0, 2, 1}, {0, 3, 0}, mode, 3}).length = 12;
    s.add({In{.shape = {3, 4}}}, Attrs{{-1, 2}, {1, -3}, mode, 1}).length = 12;
    s.add({In{.shape = {2, 1}}}, Attrs{{0, 4}, {5, 3}, mode}).length = 40;
    s.add({In{.shape = {}}}, Attrs{{}, {}, mode});
    s.add({In{.shape = {0, 3}}}, Attrs{{0, 2}, {0, 2}, mode}).length = 3;
  }
  s.add({In{.shape = {0, 3}}}, Attrs{{2, 0}, {1, 0}});
  s.bad({In{.shape = {3}}}, Attrs{{1, 1}, {0, 0}}, "one number before");
  s.bad({In{.shape = {3}}}, Attrs{{-2}, {-2}}, "size left of axis 0");
  s.bad({In{.shape = {0}}}, Attrs{{1}, {0}, PadMode::edge}, "elements to repeat");
  s.bad({In{.shape = {2, 64}, .dtype = find_dtype("q8_0")}}, Attrs{{0, 0}, {1, 0}}, "takes bool");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5, -1.75,
    1.25, 1.875, -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}}, Attrs{.before
    = {1, 2}, .after = {2, 0}, .mode = PadMode::edge}, {Expect{{6, 8}, {1.625, 1.625, 1.625, 1.5,
    1.375, 1.5, -1.75, 1.25, 1.625, 1.625, 1.625, 1.5, 1.375, 1.5, -1.75, 1.25, 1.875, 1.875, 1.875,
    -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.375, 0.375, 0.5, 1.25, -2, 1.375, 1.75, 0.375, 0.375,
    0.375, 0.5, 1.25, -2, 1.375, 1.75, 0.375, 0.375, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}});
  s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5}}},
    Attrs{.before = {9}, .after = {7}, .mode = PadMode::edge}, {Expect{{20}, {1.625, 1.625, 1.625,
    1.625, 1.625, 1.625, 1.625, 1.625, 1.625, 1.625, 1.5, 1.375, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5,
    1.5}}});
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5, -1.75,
    1.25, 1.875, -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}}, Attrs{.before
    = {1, 2}, .after = {2, 0}, .mode = PadMode::reflect}, {Expect{{6, 8}, {-1.375, -1, 1.875, -1,
    -1.375, -1.75, 1.25, 1.875, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5, -1.75, 1.25, -1.375, -1, 1.875,
    -1, -1.375, -1.75, 1.25, 1.875, 1.25, 0.5, 0.375, 0.5, 1.25, -2, 1.375, 1.75, -1.375, -1, 1.875,
    -1, -1.375, -1.75, 1.25, 1.875, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5, -1.75, 1.25}}});
  s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5}}},
    Attrs{.before = {9}, .after = {7}, .mode = PadMode::reflect}, {Expect{{20}, {1.5, 1.375, 1.5,
    1.625, 1.5, 1.375, 1.5, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5,
    1.375}}});
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5, -1.75,
    1.25, 1.875, -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}}, Attrs{.before
    = {1, 2}, .after = {2, 0}, .mode = PadMode::wrap}, {Expect{{6, 8}, {1.375, 1.75, 0.375, 0.5,
    1.25, -2, 1.375, 1.75, -1.75, 1.25, 1.625, 1.5, 1.375, 1.5, -1.75, 1.25, 1.25, 1.875, 1.875, -1,
    -1.375, -1.75, 1.25, 1.875, 1.375, 1.75, 0.375, 0.5, 1.25, -2, 1.375, 1.75, -1.75, 1.25, 1.625,
    1.5, 1.375, 1.5, -1.75, 1.25, 1.25, 1.875, 1.875, -1, -1.375, -1.75, 1.25, 1.875}}});
  s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5}}},
    Attrs{.before = {9}, .after = {7}, .mode = PadMode::wrap}, {Expect{{20}, {1.5, 1.625, 1.5,
    1.375, 1.5, 1.625, 1.5, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5, 1.625, 1.5, 1.375, 1.5, 1.625, 1.5,
    1.375}}});
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5, -1.75,
    1.25, 1.875, -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}}, Attrs{.before
    = {1, 2}, .after = {2, 0}, .value = 0.5}, {Expect{{6, 8}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    0.5, 0.5, 0.5, 1.625, 1.5, 1.375, 1.5, -1.75, 1.25, 0.5, 0.5, 1.875, -1, -1.375, -1.75, 1.25,
    1.875, 0.5, 0.5, 0.375, 0.5, 1.25, -2, 1.375, 1.75, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}});
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1.625, 1.5, 1.375, 1.5, -1.75,
    1.25, 1.875, -1, -1.375, -1.75, 1.25, 1.875, 0.375, 0.5, 1.25, -2, 1.375, 1.75}}}, Attrs{.before
    = {-1, 1}, .after = {0, -2}, .value = -1}, {Expect{{2, 5}, {-1, 1.875, -1, -1.375, -1.75, -1,
    0.375, 0.5, 1.25, -2}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
