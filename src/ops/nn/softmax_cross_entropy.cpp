#include "lamella/ops/nn/softmax_cross_entropy.h"

#include <cmath>

#include "lamella/ops/index/gather_elements.h"
#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/not_equal.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/mean.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

using Attrs = SoftmaxCrossEntropy::Attrs;

int64_t class_axis(const Attrs& a, const Shape& x) {
  return a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis;
}
// The sizes of x with one class.
Shape one_class(const Attrs& a, Shape x) {
  x[class_axis(a, x)] = 1;
  return x;
}
ReduceAttrs over_classes(const Attrs& a) { return {.axes = {a.axis}, .keep = true}; }
bool names_classes(Value labels) { return labels.dtype().is_int(); }
Value is_counted(Value labels, const Attrs& a) {
  return not_equal(labels, scalar_like(labels, static_cast<double>(a.ignore_index)));
}

// -log_softmax(x): the first greatest x is left out of the sum, whose logarithm is then log1p.
Value surprise(Value x, const Attrs& a) {
  const int64_t axis = class_axis(a, x.shape());
  const Value below = max(x, over_classes(a)) - x;
  Shape along(std::vector<Dim>(x.shape().rank(), Dim(1)));
  along[axis] = x.shape()[axis];
  const Value place = reshape_to(iota_of(*x.graph, along[axis]), along);
  const Value is_top = equal(place, argmax(x, {.axis = axis, .keep = true}));
  const Value others = where(is_top, scalar_like(x, 0), exp(neg(below)));
  return below + log1p(sum(others, over_classes(a)));
}

// Weights of the classes, smoothed.
Value smoothed(Value weights, const Attrs& a) {
  if (a.smoothing == 0) return weights;
  const Dim n = weights.shape()[class_axis(a, weights.shape())];
  const Value even = scalar_like(weights, a.smoothing) /
                     cast(reshape_to(weights.graph->sizes({n}), Shape{}), {.to = weights.dtype()});
  return weights * (1 - a.smoothing) + even;
}

// The loss of each row; the axis stays with size 1.
Value losses(Value x, Value labels, const Attrs& a) {
  const Value s = surprise(x, a);
  if (!names_classes(labels)) {
    const Value q = smoothed(as_dtype(labels, x.dtype()), a), zero = scalar_like(q, 0);
    return sum(where(equal(q, zero), zero, q * s), over_classes(a));
  }
  // Negative labels would count from the end: they are moved far outside.
  constexpr double kOutside = 0x1p30;
  const Value zero = scalar_like(labels, 0);
  const Value moved = where(less(labels, zero), labels - kOutside, labels);
  const Value at = reshape_to(where(is_counted(labels, a), moved, zero), one_class(a, x.shape()));
  const Value loss = gather_elements(s, at, {.axis = a.axis});
  if (a.smoothing == 0) return loss;
  return loss * (1 - a.smoothing) + mean(s, over_classes(a)) * a.smoothing;
}

Value counted_rows(Value labels, DType type, const Attrs& a) {
  return sum(cast(is_counted(labels, a), {.to = type}));
}

}  // namespace

void SoftmaxCrossEntropy::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0);
  const Shape& x = cx.shape(0);
  const int64_t axis = cx.axis(a.axis, x.rank());
  cx.require_at_least(x[axis], 1, "number of classes");
  cx.check(a.smoothing >= 0 && a.smoothing <= 1, "smoothing is out of range; got ", a.smoothing,
           "; want 0 to 1");
  Shape rows = x;
  rows.dims.erase(rows.dims.begin() + axis);
  const bool is_float = cx.in(1).is_tensor() && cx.in(1).dtype.is_float();
  if (!is_float) {
    cx.require_int(1);
    const double most = cx.in(1).dtype == kI32 ? 0x1p31 : 0x1p53;
    cx.check(std::abs(static_cast<double>(a.ignore_index)) < most,
             "ignore_index is out of range; got ", a.ignore_index);
  }
  const Shape& want = is_float ? x : rows;
  cx.require_rank(1, want.rank());
  for (size_t i = 0; i < want.rank(); ++i)
    cx.require_equal(cx.shape(1).dims[i], want.dims[i],
                     is_float ? "sizes of x and labels" : "sizes of x without axis and labels");
  cx.out(cx.in(0).dtype, a.reduction == LossReduction::none ? rows : Shape{});
}

Value SoftmaxCrossEntropy::expand(const Args& args, const Attrs& a) {
  const Value x = wide(args[0]), labels = args[1];
  Shape rows = x.shape();
  rows.dims.erase(rows.dims.begin() + class_axis(a, rows));
  Value loss = reshape_to(losses(x, labels, a), rows);
  if (names_classes(labels)) loss = where(is_counted(labels, a), loss, scalar_like(loss, 0));
  if (a.reduction == LossReduction::mean && !names_classes(labels))
    loss = mean(loss);
  else if (a.reduction != LossReduction::none)
    loss = sum(loss);
  if (a.reduction == LossReduction::mean && names_classes(labels))
    loss = loss / counted_rows(labels, x.dtype(), a);
  return as_dtype(loss, args[0].dtype());
}

// By x: softmax(x) times the sum of q, less q. By dense labels: the surprise.
void SoftmaxCrossEntropy::vjp(VjpCx& cx, const Attrs& a) {
  const Value x = wide(cx.in(0)), labels = cx.in(1), p = softmax(x, {.axis = a.axis});
  const Shape kept = one_class(a, x.shape());
  Value g = wide(cx.grad());
  if (a.reduction == LossReduction::none) g = reshape_to(g, kept);
  if (names_classes(labels)) {
    if (a.reduction == LossReduction::mean) g = g / counted_rows(labels, x.dtype(), a);
    const int64_t axis = class_axis(a, kept);
    const Value q = one_hot(labels, {.depth = x.shape()[axis], .axis = axis, .to = x.dtype()});
    const Value counted = reshape_to(is_counted(labels, a), kept);
    cx.set(0,
           as_dtype(where(counted, g * (p - smoothed(q, a)), scalar_like(g, 0)), cx.in(0).dtype()));
    return;
  }
  if (a.reduction == LossReduction::mean)
    g = g / cast(reshape_to(x.graph->sizes({kept.numel()}), Shape{}), {.to = x.dtype()});
  const Value q = smoothed(as_dtype(labels, x.dtype()), a);
  cx.set(0, as_dtype(g * (p * sum(q, over_classes(a)) - q), cx.in(0).dtype()));
  cx.set(1, as_dtype(g * surprise(x, a) * (1 - a.smoothing), labels.dtype()));
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/training_samples.py";
  s.expect(source, {In{.shape = {7, 4}, .dtype = kF32, .values = {1.375, 3.75, 2.625, 2.125, 1.75,
    -3, -2, 2.625, -1.375, 2.875, -2.625, -1.25, 3.875, 0.125, 2.75, 0.875, -3.5, -1.25, 0, 1, 4,
    1.875, -1.375, 2.875, -0.625, -1.375, -3.75, -0.625}}, In{.shape = {7}, .dtype = kI64, .values =
    {0, 2, 2, 3, 2, 2, 3}}}, Attrs{.reduction = LossReduction::none, .ignore_index = 2, .smoothing =
    0.2}, {Expect{{7}, {2.63532401, 0, 0, 3.12876209, 0, 0, 1.11654095}}});
  s.expect(source, {In{.shape = {7, 4}, .dtype = kF32, .values = {-3.625, 2.25, 2.125, 1.875, -2.75,
    -0.875, -1.75, 3.5, 0.625, 1.375, 2.25, 1.375, -2.625, -3.125, 3.5, 0.5, -1.25, -3, 2.75, -2.75,
    3.25, 3, -2.25, -0.625, -2.75, 0.625, 3.125, 0.375}}, In{.shape = {7}, .dtype = kI64, .values =
    {0, 2, 3, 3, 3, 2, 0}}}, Attrs{.reduction = LossReduction::mean, .ignore_index = 2, .smoothing =
    0.2}, {Expect{{}, {4.2725887}}});
  s.expect(source, {In{.shape = {7, 4}, .dtype = kF32, .values = {-1.625, 0.5, -2.75, -1.25, 2.75,
    1.75, 1.75, 3.125, -1.5, -1.5, 3.875, -1.375, 1.75, -2, -1.125, 2.875, 3.625, 2.125, 1.75, 3,
    -2.75, 0.5, -1, 3.125, -2.5, -3, 4, 3.125}}, In{.shape = {7}, .dtype = kI64, .values = {0, 2, 0,
    1, 0, 2, 2}}}, Attrs{.reduction = LossReduction::sum, .ignore_index = 2, .smoothing = 0.2},
    {Expect{{}, {13.0058911}}});
  s.expect(source, {In{.shape = {2, 5, 3}, .dtype = kF32, .values = {1.875, 3.375, -3.625, -1.875,
    -2, -3, 3.375, 0, -3.25, 1, 1.75, -4, -1.75, -2.625, -0.875, -1.875, 2.75, -2.875, 2.5, -2.5,
    -3.75, -3.375, 3.125, -4, -3.75, 2.125, 1, -3.25, 0.375, 2.875}}, In{.shape = {2, 3}, .dtype =
    kI32, .values = {0, 4, 4, 3, 3, 3}}}, Attrs{.axis = 1, .reduction = LossReduction::none},
    {Expect{{2, 3}, {1.78317572, 6.21369058, 0.277868263, 6.27030267, 1.75269034, 2.0224694}}});
  s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {3.625, 2.625, 1.625, 2.375, 1.25,
    0.75, -3, 3.5, -0.75, 2, 0.625, 0.875, -3.5, -3, -3, 0.375, 1.25, 1.5, 0.75, -3}}, In{.shape =
    {4, 5}, .dtype = kF32, .values = {0.5, 0.625, 0.875, 0.5, 0.5, 1, 0.75, 0.375, 0.125, 0.125,
    0.75, 0, 0, 0, 0.625, 0.25, 0.5, 0.375, 0.75, 0.375}}}, Attrs{.reduction = LossReduction::none,
    .smoothing = 0}, {Expect{{4}, {6.08567494, 8.97202185, 3.44248489, 4.79481061}}});
  s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {3.625, 2.625, 1.625, 2.375, 1.25,
    0.75, -3, 3.5, -0.75, 2, 0.625, 0.875, -3.5, -3, -3, 0.375, 1.25, 1.5, 0.75, -3}}, In{.shape =
    {4, 5}, .dtype = kF32, .values = {0.5, 0.625, 0.875, 0.5, 0.5, 1, 0.75, 0.375, 0.125, 0.125,
    0.75, 0, 0, 0, 0.625, 0.25, 0.5, 0.375, 0.75, 0.375}}}, Attrs{.reduction = LossReduction::mean,
    .smoothing = 0.1}, {Expect{{}, {5.50583902}}});
  s.expect(source, {In{.shape = {3, 4}, .dtype = kF32, .values = {40, 0, 1, -2, 3, 60, 2, 1, 0, 0,
    0, 100}}, In{.shape = {3}, .dtype = kI64, .values = {0, 1, 3}}}, Attrs{.reduction =
    LossReduction::sum}, {Expect{{}, {1.63715309e-17}}});
  // clang-format on
  // golden:end
}

}  // namespace

void SoftmaxCrossEntropy::samples(Samples& s) {
  constexpr auto none = LossReduction::none, mean = LossReduction::mean, sum = LossReduction::sum;
  const Domain x{-6, 6}, weights{0, 1};
  const auto label = [](std::vector<int64_t> shape, double low, double high, DType type = kI64) {
    return In{.shape = std::move(shape), .dtype = type, .domain = {low, high}};
  };
  s.add({In{.shape = {2, 3, 67}, .domain = x}, label({2, 3}, 0, 66)}, Attrs{.reduction = none})
      .length = 67;
  s.add({In{.shape = {9, 5}, .domain = x}, label({9}, -1, 4)},
        Attrs{.reduction = mean, .ignore_index = -1})
      .length = 14;
  s.add({In{.shape = {35, 7}, .domain = {-60, 60}}, label({35}, 0, 6, kI32)},
        Attrs{.reduction = sum, .ignore_index = 3, .smoothing = 0.125})
      .length = 42;
  s.add({In{.shape = {2, 5, 3}, .domain = x}, label({2, 3}, 0, 4)},
        Attrs{.axis = 1, .reduction = mean})
      .length = 11;
  s.add({In{.shape = {5}, .domain = x}, label({}, 0, 4)}, Attrs{.reduction = none}).length = 5;
  s.add({In{.shape = {3, 1}, .domain = x}, label({3}, 0, 0)}, Attrs{.reduction = none});
  s.add({In{.shape = {0, 4}, .domain = x}, label({0}, 0, 3)}, Attrs{.reduction = sum});
  s.add({In{.shape = {2, 3, 67}, .domain = x}, In{.shape = {2, 3, 67}, .domain = weights}},
        Attrs{.reduction = none})
      .length = 67;
  s.add({In{.shape = {9, 5}, .domain = x}, In{.shape = {9, 5}, .dtype = kF32, .domain = weights}},
        Attrs{.reduction = mean, .smoothing = 0.25})
      .length = 14;
  s.add({In{.shape = {3, 4, 2}, .domain = x}, In{.shape = {3, 4, 2}, .domain = weights}},
        Attrs{.axis = -2, .reduction = sum})
      .length = 10;
  s.add({In{.shape = {0, 4}}, In{.shape = {0, 4}}}, Attrs{.reduction = mean});
  s.add({In{.shape = {6, 9}, .domain = {-6, 6, true}}, label({6}, 0, 8)}, Attrs{.reduction = none})
      .grad = false;
  add_literal_samples(s);
  const In at_end{.shape = {2}, .dtype = kI64, .values = {0, 3}};
  const In negative{.shape = {2}, .dtype = kI64, .values = {-1, 2}};
  s.bad({In{.shape = {2, 3}}, at_end}, Attrs{}, "index out of range; got 3");
  s.bad({In{.shape = {2, 3}}, negative}, Attrs{}, "index out of range");
  s.bad({In{.shape = {2, 3}}, label({3}, 0, 2)}, Attrs{}, "sizes of x without axis and labels");
  s.bad({In{.shape = {2, 3}}, label({2, 3}, 0, 2)}, Attrs{}, "rank");
  s.bad({In{.shape = {2, 3}}, In{.shape = {3, 3}}}, Attrs{}, "sizes of x and labels");
  s.bad({In{.shape = {2, 0}}, label({2}, 0, 0)}, Attrs{}, "number of classes");
  s.bad({In{.shape = {2, 3}}, label({2}, 0, 2)}, Attrs{.axis = 2}, "axis out of range");
  s.bad({In{.shape = {2, 3}}, label({2}, 0, 2)}, Attrs{.smoothing = 1.5}, "smoothing");
  s.bad({In{.shape = {2, 3}}, label({2}, 0, 2, kI32)}, Attrs{.ignore_index = int64_t{1} << 40},
        "ignore_index is out of range");
  s.bad({In{.shape = {2, 3}}, In{.shape = {2}, .dtype = kBool}}, Attrs{}, "does not hold indices");
}

}  // namespace lamella
