#include "lamella/ops/spatial/conv_grad_w.h"

#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_samples.h"
#include "lamella/ops/spatial/conv_transpose.h"

namespace lamella {

void ConvGradW::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0), cx.require_same_dtype(0, 1);
  const Shape &x = cx.shape(0), &g = cx.shape(1);
  cx.check(x.rank() >= 3, "takes [batch, channels, ...]; got ", cx.in(0));
  cx.require_rank(1, x.rank());
  check_conv_attrs(cx, a, x.rank() - 2);
  cx.check(a.sizes.rank() == x.rank() - 2, "wants the taps of each axis in sizes; got ", a.sizes);
  cx.require_equal(x[0], g[0], "batch of x and g");
  for (const Dim channels : {x[1], g[1]})
    cx.require_equal(dim_mod(channels, a.groups), 0, "channels modulo groups, and zero");
  Shape w{g[1], floordiv(x[1], a.groups)};
  w.dims.insert(w.dims.end(), a.sizes.begin(), a.sizes.end());
  cx.out(cx.in(0).dtype, std::move(w));
}

void ConvGradW::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor &x = cx.in(0), &g = cx.in(1);
  RefTensor& w = cx.out(0);
  for_each_product(conv_geometry(a, x.shape, g.shape, w.shape),
                   [&](size_t n, size_t wide, size_t k) { w.f[k] += x.f[wide] * g.f[n]; });
}

void ConvGradW::vjp(VjpCx& cx, const Attrs& a) {
  const Value x = cx.in(0), g = cx.in(1), w = cx.grad();
  cx.set(0, conv_transpose(g, w, ConvTranspose::Attrs::from_conv(a, places_of(x.shape()))));
  cx.set(1, conv(x, w, sized(a, g.shape())));
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = ConvGradW::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, ONNX Runtime 1.32.0, tools/golden/spatial_samples.py";
  s.expect(source, {In{.shape = {2, 4, 9}, .dtype = kF32, .values = {-0.25, 1.625, 0.625, -1.875,
    1.625, -1.625, 0.5, 1.75, -0.125, 0.875, -0.125, 0.75, 1.875, 0.25, 0.5, -1.75, -1.25, -0.5,
    0.75, -0.625, 1, -0.375, 0.375, -0.25, -0.625, 0.875, -0.75, -2, -1.125, 0.375, 2, 0.875, 0.125,
    1, 1, -1.75, -1.625, -1.5, 0.875, -1.5, 0.125, -0.625, 0, -0.875, 0.75, -0.75, 1.375, -0.875,
    1.125, -1.125, 0.5, 0.375, -1, -0.625, 0.375, -0.5, -0.125, -0.5, -0.25, 1.125, 1, 0.25, -1.5,
    0.5, -1.375, 0.5, -0.75, -1, 0.25, 0.25, -2, 1.25}}, In{.shape = {2, 6, 5}, .dtype = kF32,
    .values = {-1.125, -0.375, -0.125, -0.625, 0.25, -0.25, 0.5, -1, 0.75, 1.125, -0.875, 0.75,
    -0.25, 1.75, -0.625, -0.875, -1.75, 0.5, -2, 0.25, -1.875, -1.875, 0.125, -1.875, -0.5, 0.875,
    -1.625, -1.5, 1.75, 0.625, -0.625, 0.125, -0.625, 1, 0.625, -1.625, -1.75, 0.5, 1.75, 0.25, -1,
    -1.75, -0.125, 1.875, -0.625, -1.5, 0.25, 1.875, -1.5, -2, 0.875, -1.25, 1.375, 0.375, -0.875,
    1.625, 1.875, 1.875, 1.875, -0.375}}}, Attrs{.strides = {2}, .dilations = {1}, .pads_begin =
    {1}, .groups = 2, .sizes = {3}}, {Expect{{6, 2, 3}, {0.65625, 1.015625, -1.75, -1.46875,
    0.71875, -1.875, 4, 0.34375, 4.8125, -4.1875, 0.71875, -6.171875, -0.0625, 0.84375, 3.203125,
    0.109375, 0.5, -6.078125, -1.625, -0.71875, 1.6875, 4.84375, -6.28125, 0.890625, 1.296875,
    0.140625, 2.03125, 4.15625, -0.40625, -4.171875, 1.828125, -0.75, 2.796875, -3.09375, -3.140625,
    -9.59375}}});
  s.expect(source, {In{.shape = {2, 2, 6, 5}, .dtype = kF32, .values = {-0.75, -1.625, -1.375, 0.75,
    -0.75, 1.625, -1.625, 2, 0.125, -0.875, 0.5, -2, 0.5, 0, 0.375, 1.75, -2, 0.5, 1.875, 0, -0.125,
    2, 0.875, -1.125, 1.125, -1.625, 1.625, -0.125, -2, 1.625, -1.375, -1, 1.875, 0.25, -1.5, 1.875,
    -0.125, -1.625, -0.875, 1.875, 1.5, -1.5, -2, -1.75, -0.125, -0.5, 1, 1.375, 0, 0.25, 1, -1.875,
    -0.375, 0.375, 1.75, -1.5, 1.75, -1.25, 2, 1.25, 1.625, 0.375, 1.125, 1, 0.875, -1.875, -1.125,
    -1.125, 0.75, 2, 1.875, 1.75, -1.5, -0.125, 0.625, 1.5, 1.875, 0.625, -0.125, 1.75, -1.75,
    0.125, 0.875, 0.5, 1.75, 0, 1.75, -1.75, -0.75, 0.25, 0, 0, -1.625, -0.25, -2, -1.125, -1.625,
    0, 0.875, 1.5, 0.625, -0.375, -1.875, -1.875, -0.625, 0.625, 1.875, 1.625, -0.375, -0.125, 1.25,
    -0.5, 1.875, 0.125, -0.5, -1.25, 1.875, 1.875, 0, -0.75}}, In{.shape = {2, 3, 4, 4}, .dtype =
    kF32, .values = {1.375, 0.875, -0.375, 0, 1.375, 1.5, -1.875, 1.625, 1.25, 0.25, -1.625, -1.375,
    0, -0.5, 1.5, -1.125, 1.75, -0.25, -1.375, -1, 1.125, -1.625, -1.5, 0.75, -0.875, -0.25, -0.75,
    0.875, -0.625, -1.875, 1.5, 1.125, -1.875, 1.75, 0, -1.875, -1.125, 0.875, 0.875, 1.5, -0.125,
    -1.625, 1.5, -2, 1.375, -1.125, -0.25, -0.25, 0.25, -0.5, -1.375, -1.875, 0.125, 2, -0.5, 0.875,
    -1.5, 1.875, -1.25, -0.375, -1.75, 0.75, -1.75, -0.375, -2, -1.5, 1.375, 1.875, -1.75, 2, 1.5,
    -2, 0, 1.25, -0.875, 0, -0.25, -1.25, -0.25, 1.75, -2, -0.875, 0.875, -0.75, -1.625, 2, 1,
    -0.375, -0.25, 1.875, -1.125, -2, 1.5, -1.5, -0.5, 0.25}}}, Attrs{.strides = {1, 1}, .dilations
    = {2, 1}, .pads_begin = {1, 0}, .groups = 1, .sizes = {3, 2}}, {Expect{{3, 2, 3, 2}, {4.078125,
    -11.875, 3.265625, -20.640625, 5.75, 3.03125, 0.890625, -6, -6.546875, -8.046875, -3.546875,
    3.0625, 0.875, 1.359375, 6.296875, -4.59375, -3.03125, -5.640625, -13.265625, 0.484375,
    20.546875, 8.859375, 3.109375, 0, 5.234375, -3.625, -8.578125, 8.046875, -1.421875, -10.109375,
    2.578125, -4.3125, -1.40625, -15.84375, -9.046875, 11.125}}});
  // clang-format on
  // golden:end
}

}  // namespace

void ConvGradW::samples(Samples& s) {
  for (const ConvShapes& c : conv_shapes()) {
    const std::vector<int64_t> y = conv_output(c);
    ConvAttrs a = c.a;
    a.sizes = places_of(c.w);
    s.add({In{.shape = c.x}, In{.shape = y}}, a).length = c.x[0] * product_of(y, 2);
  }
  const In x{.shape = {1, 4, 5}}, g{.shape = {1, 3, 3}};
  s.bad({x, g}, Attrs{}, "wants the taps");
  s.bad({x, In{.shape = {2, 3, 3}}}, Attrs{.sizes = {3}}, "batch of x and g");
  s.bad({x, g}, Attrs{.groups = 2, .sizes = {3}}, "modulo groups");
  add_literal_samples(s);
}

}  // namespace lamella
