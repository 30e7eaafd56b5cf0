#include "lamella/ops/spatial/resize.h"

#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/ceil.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

struct Axis {
  int64_t axis;
  Dim from, to;
  std::optional<double> scale;
};

// A size as an f64 of rank 0.
Value number(Graph& g, Dim d) { return cast(reshape_to(g.sizes({d}), Shape{}), {.to = kF64}); }

// The places of the output in the input, f64 [to].
Value places(Graph& g, const Axis& x, ResizeCoordinates coordinates) {
  const Value i = iota_of(g, x.to, kF64), from = number(g, x.from), to = number(g, x.to);
  const Value one = scalar_like(i, 1);
  const Value scale = x.scale ? scalar_like(i, *x.scale) : to / maximum(from, one);
  if (coordinates == ResizeCoordinates::align_corners)
    return i * (from - 1.0) / maximum(to - 1.0, one);
  if (coordinates == ResizeCoordinates::asymmetric) return i / scale;
  const Value half = (i + 0.5) / scale - 0.5;
  if (coordinates == ResizeCoordinates::half_pixel) return half;
  if (coordinates == ResizeCoordinates::pytorch_half_pixel)
    return where(less_equal(to, one), scalar_like(i, 0), half);
  return from * 0.5 * (1.0 - to / (from * scale)) + half;
}

Value inside(Value at, Value last) { return minimum(maximum(at, scalar_like(at, 0)), last); }

Value rounded(Value at, ResizeRounding rounding) {
  switch (rounding) {
    case ResizeRounding::prefer_floor:
      return ceil(at - 0.5);
    case ResizeRounding::prefer_ceil:
      return floor(at + 0.5);
    case ResizeRounding::floor:
      return floor(at);
    default:
      return ceil(at);
  }
}

// Weights of the elements around a place that lies t behind the one at its left.
Values linear_weights(Value t) { return {1.0 - t, t}; }
Values cubic_weights(Value t, double a) {
  const auto near = [a](Value d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  const auto far = [a](Value d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

Value element_at(Value place, Value last) { return cast(inside(place, last), {.to = kI64}); }

ResizeTaps taps_along(Graph& g, const Axis& axis, const Resize::Attrs& a) {
  const Value at = places(g, axis, a.coordinates), last = number(g, axis.from - 1);
  if (a.mode == ResizeMode::nearest) return {{element_at(rounded(at, a.rounding), last)}, {}};
  const Value left = floor(at), t = at - left;
  ResizeTaps taps;
  taps.weights = a.mode == ResizeMode::linear ? linear_weights(t) : cubic_weights(t, a.cubic_a);
  const double first = a.mode == ResizeMode::linear ? 0 : -1;
  Value total;
  for (size_t i = 0; i < taps.weights.size(); ++i) {
    const Value place = left + (first + static_cast<double>(i));
    taps.elements.push_back(element_at(place, last));
    if (!a.exclude_outside) continue;
    const Value counts =
        logical_and(less_equal(scalar_like(place, 0), place), less_equal(place, last));
    taps.weights[i] = where(counts, taps.weights[i], scalar_like(place, 0));
    total = i == 0 ? taps.weights[i] : total + taps.weights[i];
  }
  if (a.exclude_outside)
    for (Value& w : taps.weights) w = w / total;
  return taps;
}

// x along one axis, in x's type.
Value resized(Value x, const Axis& axis, const Resize::Attrs& a) {
  const ResizeTaps taps = taps_along(*x.graph, axis, a);
  if (taps.weights.empty()) return gather(x, taps.elements[0], {.axis = axis.axis});
  Shape along;
  for (size_t i = static_cast<size_t>(axis.axis); i < x.shape().rank(); ++i)
    along.dims.push_back(along.dims.empty() ? axis.to : Dim(1));
  Value y;
  for (size_t i = 0; i < taps.weights.size(); ++i) {
    const Value part = gather(x, taps.elements[i], {.axis = axis.axis}) *
                       reshape_to(as_dtype(taps.weights[i], x.dtype()), along);
    y = i == 0 ? part : y + part;
  }
  return y;
}

int64_t axis_at(const Resize::Attrs& a, size_t i, size_t rank) {
  if (a.axes.empty()) return static_cast<int64_t>(i);
  return a.axes[i] < 0 ? a.axes[i] + static_cast<int64_t>(rank) : a.axes[i];
}

Axis axis_of(const Resize::Attrs& a, size_t i, int64_t axis, Dim from) {
  if (a.sizes.rank() > 0) return {axis, from, a.sizes.dims[i], {}};
  return {axis, from, floor_mul(from, a.scales[i]), a.scales[i]};
}

}  // namespace

ResizeTaps Resize::taps(Graph& g, const Attrs& a, size_t i, Dim from) {
  return taps_along(g, axis_of(a, i, 0, from), a);
}

void Resize::type(TypeCx& cx, const Attrs& a) {
  Shape y = cx.shape(0);
  const DType t = cx.in(0).dtype;
  cx.check(t.is_float() || (a.mode == ResizeMode::nearest && (t.is_int() || t.is_bool())),
           "interpolates floats, and takes the nearest of others too; got ", cx.in(0));
  const size_t n = a.axes.empty() ? y.rank() : a.axes.size();
  cx.check((a.sizes.rank() == n) != (a.scales.size() == n) || n == 0,
           "wants a size or a scale for each axis; got sizes ", a.sizes, " and ", a.scales.size(),
           " scales for ", n, " axes");
  std::vector<bool> seen(y.rank());
  for (size_t i = 0; i < n; ++i) {
    const int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : cx.axis(a.axes[i], y.rank());
    cx.check(!seen[static_cast<size_t>(axis)], "axis ", axis, " stands twice in axes");
    seen[static_cast<size_t>(axis)] = true;
    const Dim from = y[axis];
    if (a.sizes.rank() > 0) {
      y[axis] = a.sizes.dims[i];
    } else {
      cx.check(a.scales[i] > 0 && a.scales[i] < 1e9, "scale out of range; got ", a.scales[i],
               "; want above 0, below 1e9");
      y[axis] = floor_mul(from, a.scales[i]);
    }
    if (compare(from, y[axis]) != Equal::yes)
      cx.require_at_least(from, 1, str("elements to sample along axis ", axis));
  }
  cx.out(t, std::move(y));
}

Value Resize::expand(const Args& args, const Attrs& a) {
  const DType type = args[0].dtype();
  Value x = type.is_float() ? wide(args[0]) : args[0];
  const size_t n = a.axes.empty() ? x.shape().rank() : a.axes.size();
  for (size_t i = 0; i < n; ++i) {
    const int64_t at = axis_at(a, i, x.shape().rank());
    const Axis axis = axis_of(a, i, at, x.shape()[at]);
    // Every place is its own element.
    const bool same =
        compare(axis.from, axis.to) == Equal::yes && (!axis.scale || *axis.scale == 1);
    if (!same) x = resized(x, axis, a);
  }
  return as_dtype(x, type);
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = Resize::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, ONNX Runtime 1.32.0, tools/golden/spatial_samples.py";
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {0.25, -0.125, 0.875, -1.375,
    -1.25, 1.375, 1.75, 0.375}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::nearest, .coordinates =
    ResizeCoordinates::half_pixel, .rounding = ResizeRounding::prefer_floor}, {Expect{{5, 3}, {0.25,
    -0.125, -1.375, 0.25, -0.125, -1.375, 0.25, -0.125, -1.375, -1.25, 1.375, 0.375, -1.25, 1.375,
    0.375}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.875, -1.875, 1.125, -0.75,
    -0.25, -0.625, -1.875, 0.75}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::nearest, .coordinates
    = ResizeCoordinates::half_pixel_symmetric, .rounding = ResizeRounding::prefer_ceil}, {Expect{{5,
    3}, {-0.875, 1.125, -0.75, -0.875, 1.125, -0.75, -0.25, -1.875, 0.75, -0.25, -1.875, 0.75,
    -0.25, -1.875, 0.75}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.25, -1.5, -0.75, 1.125, -1.5,
    -1.875, -0.625, -1.625}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::nearest, .coordinates =
    ResizeCoordinates::pytorch_half_pixel, .rounding = ResizeRounding::floor}, {Expect{{5, 3},
    {-0.25, -1.5, -0.75, -0.25, -1.5, -0.75, -0.25, -1.5, -0.75, -0.25, -1.5, -0.75, -1.5, -1.875,
    -0.625}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-1, 0.875, -0.5, -0.25, -0.375,
    0.75, -1, -0.875}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::nearest, .coordinates =
    ResizeCoordinates::align_corners, .rounding = ResizeRounding::ceil}, {Expect{{5, 3}, {-1, -0.5,
    -0.25, -0.375, -1, -0.875, -0.375, -1, -0.875, -0.375, -1, -0.875, -0.375, -1, -0.875}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {1.75, -1.75, 1.875, 1.5, 0.625,
    -0.875, -1.25, 1.375}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::nearest, .coordinates =
    ResizeCoordinates::asymmetric, .rounding = ResizeRounding::prefer_floor}, {Expect{{5, 3}, {1.75,
    -1.75, 1.5, 1.75, -1.75, 1.5, 0.625, -0.875, 1.375, 0.625, -0.875, 1.375, 0.625, -0.875,
    1.375}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.875, 0.875, -0.875, -1, 1.625,
    1.25, 2, 1.25}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::linear, .coordinates =
    ResizeCoordinates::half_pixel}, {Expect{{5, 3}, {-0.583333254, 0, -0.979166627, -0.368749887,
    0.162500039, -0.743749857, 0.489583373, 0.8125, 0.197916687, 1.34791648, 1.46249998, 1.13958335,
    1.56249988, 1.625, 1.375}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {0.25, 0.125, 0.75, 1.375, 1.75,
    -1.75, 0.125, 1.125}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::linear, .coordinates =
    ResizeCoordinates::align_corners}, {Expect{{5, 3}, {0.25, 0.4375, 1.375, 0.625, 0.125, 1.3125,
    1, -0.1875, 1.25, 1.375, -0.5, 1.1875, 1.75, -0.8125, 1.125}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {2, 0, -1.625, 0.5, -0.125, 1.25,
    0.25, -0.75}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::linear, .coordinates =
    ResizeCoordinates::asymmetric}, {Expect{{5, 3}, {2, -0.541666746, -0.208333135, 1.1500001,
    0.0416666046, -0.291666597, 0.299999982, 0.62499994, -0.37500006, -0.125, 0.916666627,
    -0.416666746, -0.125, 0.916666627, -0.416666746}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.25, 1.75, -0.75, 1.75, 1.625,
    0, 0.375, 0.875}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::cubic, .coordinates =
    ResizeCoordinates::half_pixel}, {Expect{{5, 3}, {-0.063417539, 0.504374027, 1.40712142,
    0.187436417, 0.41500777, 1.30368125, 0.732856095, 0.220703125, 1.07877636, 1.27827597,
    0.0263985284, 0.853871703, 1.52912998, -0.0629676655, 0.750431597}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {0.625, -0.625, -0.75, -1.875,
    1.875, 1.25, -0.75, -1.125}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::cubic, .coordinates =
    ResizeCoordinates::half_pixel_symmetric, .cubic_a = -0.5, .exclude_outside = true}, {Expect{{5,
    3}, {0.351238668, -0.78740406, -1.81216598, 0.572080016, -0.63437134, -1.70613539, 1.15495121,
    -0.23046875, -1.42628598, 1.73782241, 0.17343384, -1.14643669, 1.95866358, 0.32646656,
    -1.04040587}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.5, 1, 1.375, -0.625, -1.375,
    -1.5, 0.625, 1.375}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::cubic, .coordinates =
    ResizeCoordinates::align_corners, .cubic_a = -0.5, .exclude_outside = true}, {Expect{{5, 3},
    {-0.5, 1.40625, -0.625, -0.681249976, 1.01300216, -0.210714281, -0.9375, 0.45703125, 0.375,
    -1.19375002, -0.0989397466, 0.96071434, -1.375, -0.4921875, 1.375}}});
  s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {0.625, -1.25, 0.75, 1.375, 1.5,
    -1.5, -0.875, 0.25}}}, Attrs{.sizes = {5, 3}, .mode = ResizeMode::cubic, .coordinates =
    ResizeCoordinates::asymmetric}, {Expect{{5, 3}, {0.625, -0.863426208, 1.28935122, 0.964499593,
    -1.18765724, 0.762138307, 1.34600019, -1.55200052, 0.169703498, 1.58400059, -1.77929723,
    -0.199889421, 1.56299973, -1.75924063, -0.167278677}}});
  s.expect(source, {In{.shape = {2, 5}, .dtype = kF32, .values = {-0.5, 1.75, 1.125, -1.125, -1.125,
    -1.875, 1.75, -0.625, -0.625, 0.5}}}, Attrs{.axes = {1}, .scales = {1.5}, .mode =
    ResizeMode::linear}, {Expect{{2, 7}, {-0.5, 0.625, 1.64583337, 1.22916675, 0, -1.125, -1.125,
    -1.875, -0.0625, 1.35416663, -0.229166448, -0.625, -0.437499881, 0.312500179}}});
  s.expect(source, {In{.shape = {2, 5}, .dtype = kF32, .values = {-0.5, 1.75, 1.125, -1.125, -1.125,
    -1.875, 1.75, -0.625, -0.625, 0.5}}}, Attrs{.axes = {1}, .scales = {1.5}, .mode =
    ResizeMode::cubic}, {Expect{{2, 7}, {-0.695312798, 0.68359375, 1.89467549, 1.44907379,
    -0.05859375, -1.32031226, -1.1640619, -2.18967104, 0.16015625, 1.72381353, -0.221209526,
    -0.953125, -0.463541806, 0.338541508}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Resize::samples(Samples& s) {
  const In x{.shape = {2, 3, 5, 7}};
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
    for (int c = 0; c < 5; ++c) {
      Attrs a{.axes = {2, 3}, .sizes = {8, 3}, .mode = mode};
      a.coordinates = static_cast<ResizeCoordinates>(c);
      a.exclude_outside = c % 2 == 1;
      s.add({x}, a).length = 16;
      s.add({In{.shape = {4, 3}}}, Attrs{.axes = {-1},
                                         .scales = {2.7},
                                         .mode = mode,
                                         .coordinates = a.coordinates,
                                         .rounding = static_cast<ResizeRounding>(c % 4)})
          .length = 4;
    }
  s.add({In{.shape = {3, 4}}}, Attrs{.sizes = {1, 4}, .mode = ResizeMode::linear}).length = 2;
  s.add({In{.shape = {0, 4}}}, Attrs{.sizes = {0, 8}});
  s.add({In{.shape = {3, 4}, .dtype = kU8, .domain = {0, 200}}}, Attrs{.sizes = {5, 9}});
  s.bad({x}, Attrs{}, "a size or a scale for each axis");
  s.bad({x}, Attrs{.axes = {2, -2}, .sizes = {3, 3}}, "stands twice");
  s.bad({x}, Attrs{.axes = {4}, .sizes = {3}}, "axis out of range");
  s.bad({x}, Attrs{.axes = {3}, .scales = {-1}}, "scale out of range");
  s.bad({In{.shape = {0, 4}}}, Attrs{.sizes = {2, 4}}, "elements to sample");
  s.bad({In{.shape = {3}, .dtype = kU8}}, Attrs{.sizes = {2}, .mode = ResizeMode::linear},
        "interpolates floats");
  add_literal_samples(s);
}

}  // namespace lamella
