#include "lamella/ops/spatial/max_pool.h"

#include <cmath>

#include "lamella/ops/index/scatter_elements.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

void MaxPool::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const ConvGeometry g = pool_geometry(a, x.shape, y.shape);
  std::vector<size_t> from(y.f.size(), x.f.size());
  for_each_product(g, [&](size_t n, size_t wide, size_t) {
    const double v = x.f[wide];
    if (from[n] == x.f.size() || v > y.f[n] || (std::isnan(v) && !std::isnan(y.f[n])))
      y.f[n] = v, from[n] = wide;
  });
  if (!cx.wants_saved()) return;
  RefTensor& places = cx.out(1);
  for (size_t i = 0; i < from.size(); ++i)
    places.i[i] = static_cast<int64_t>(from[i]) % g.wide_places();
}

void MaxPool::vjp(VjpCx& cx, const Attrs&) {
  const Shape x = cx.in(0).shape(), y = cx.out(0).shape();
  Dim n_x = 1, n_y = 1;
  for (size_t i = 2; i < x.rank(); ++i) n_x = n_x * x.dims[i], n_y = n_y * y.dims[i];
  const Value zeros = full(cx.graph(), {x[0], x[1], n_x}, cx.grad().dtype(), 0);
  const Value dx =
      scatter_elements(zeros, reshape_to(cx.saved(0), {x[0], x[1], n_y}),
                       reshape_to(cx.grad(), {x[0], x[1], n_y}), {.axis = 2, .mode = Scatter::add});
  cx.set(0, reshape_to(dx, x));
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = PoolAttrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, ONNX Runtime 1.32.0, tools/golden/spatial_samples.py";
  s.expect(source, {In{.shape = {1, 2, 6, 4}, .dtype = kF32, .values = {1.125, 0.25, -1.5, 0, 1.875,
    1.125, -1, 0.625, -0.25, -0.125, -0.375, -1.125, 1.5, -1.875, -0.125, -0.75, -2, -1.5, 1, 0.5,
    -1.75, 1.125, 0.375, 1.125, -2, 1.25, 1, -0.5, 1.125, 1.875, 2, 0.375, -1.875, 1.25, -0.5, 2,
    -1.25, 0.875, -0.375, 1.125, 1, 1.25, -0.125, 1.125, 0.875, 1.75, -0.875, -0.75}}},
    Attrs{.kernel = {3, 2}, .strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {1, 1}},
    {Expect{{1, 2, 3, 4}, {1.875, 1.125, 0.625, 0.625, 1.875, 1.125, 0.625, 0.625, 1.5, 1.125,
    1.125, 1.125, 1.875, 2, 2, 0.375, 1.875, 2, 2, 2, 1.75, 1.75, 1.125, 1.125}}}).grad = false;
  s.expect(source, {In{.shape = {1, 3, 10}, .dtype = kF32, .values = {-0.375, 0.25, 0.375, -0.625,
    1.125, 0.5, 1.75, -1, 0.125, 1.5, -0.375, -0.125, -0.375, 2, 0.75, -0.875, 1.125, 1.125, 1.25,
    -0.625, -1.625, 0.5, 1.125, -0.125, 1.125, -1.625, 0.375, 0.75, -0.25, 1.875}}}, Attrs{.kernel =
    {3}, .strides = {2}, .dilations = {2}, .pads_begin = {2}, .ceil_mode = true}, {Expect{{1, 3, 5},
    {0.375, 1.125, 1.75, 1.75, 1.75, -0.375, 0.75, 1.125, 1.25, 1.25, 1.125, 1.125, 1.125, 1.125,
    0.375}}}).grad = false;
  s.expect(source, {In{.shape = {1, 2, 3, 4, 4}, .dtype = kF32, .values = {1.75, -1, 1.375, -1.625,
    -1.25, -1.75, 1.875, 0.875, 1.625, 1.875, -0.5, -1.625, -0.625, -1.375, -1.125, 1.25, -1,
    -0.375, 1.75, 1.75, -1.625, 0.75, 1.875, 1.125, 0.875, 1.875, -1.75, -0.375, -0.625, -1.625,
    -1.5, -1.5, 0.375, 1.75, 0.125, 0.125, 0, -1.125, -0.875, 2, -1.375, -1.375, 1, -1.625, -0.375,
    -1.25, 1, -1.875, 1, -0.25, 1, -0.625, -1.875, 1.375, -1.25, -1.375, -1.75, -1.375, -0.75, 0.5,
    -1.375, -0.5, -0.875, 1.375, 1, -1.625, 1.25, -1.875, -1.625, 0.125, 0.25, -0.625, 0.125,
    -0.375, 2, -0.5, 1.375, 1.25, -2, -0.875, 1.625, 2, -1.125, -1.125, -1.25, -1, 1.375, -0.75,
    -0.375, -1.375, -1.375, -1.875, 0, 1.125, -1, 1.25}}}, Attrs{.kernel = {2, 2, 3}}, {Expect{{1,
    2, 2, 3, 2}, {1.875, 1.875, 1.875, 1.875, 1.875, 1.875, 1.875, 2, 1.875, 2, 1.875, 1.875, 1.375,
    1.375, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}}).grad = false;
  // clang-format on
  // golden:end
}

}  // namespace

void MaxPool::samples(Samples& s) {
  add_pool_samples(s);
  s.add({In{.shape = {1, 3, 40}, .domain = {.nonfinite = true}}}, Attrs{.kernel = {3}});
  add_literal_samples(s);
}

}  // namespace lamella
