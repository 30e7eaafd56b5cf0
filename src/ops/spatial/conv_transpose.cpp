#include "lamella/ops/spatial/conv_transpose.h"

#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_grad_w.h"
#include "lamella/ops/spatial/conv_samples.h"

namespace lamella {

void ConvTranspose::type(TypeCx& cx, const Attrs& a) {
  const ConvAttrs c = a.as_conv();
  const Dim channels = cx.in(1).rank() > 1 ? cx.shape(1)[1] * a.groups : Dim(0);
  check_conv_inputs(cx, c, 0, channels);
  const size_t n_axes = cx.shape(0).rank() - 2;
  cx.check(a.output_padding.empty() || a.output_padding.size() == n_axes,
           "output_padding has the wrong number of entries; got ", a.output_padding.size(),
           "; want ", n_axes);
  for (int64_t v : a.output_padding)
    cx.check(v >= 0 && v <= int64_t{1} << 31, "output_padding out of range; got ", v);
  const bool follows =
      a.sizes.rank() == 0 && (a.auto_pad == AutoPad::explicit_ || a.auto_pad == AutoPad::valid);
  cx.check(a.output_padding.empty() || follows,
           "output_padding goes with pads that are given; got auto_pad ",
           EnumNames<AutoPad>::names[static_cast<size_t>(a.auto_pad)], " and sizes ", a.sizes);
  Shape y{cx.shape(0)[0], channels};
  for (size_t i = 0; i < n_axes; ++i)
    y.dims.push_back(wide_size(cx, c, i, cx.shape(0).dims[i + 2], cx.shape(1).dims[i + 2],
                               conv_entry(a.output_padding, i, 0)));
  cx.out(cx.in(0).dtype, std::move(y));
}

void ConvTranspose::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor &x = cx.in(0), &w = cx.in(1);
  RefTensor& y = cx.out(0);
  for_each_product(conv_geometry(a.as_conv(), y.shape, x.shape, w.shape),
                   [&](size_t n, size_t wide, size_t k) { y.f[wide] += x.f[n] * w.f[k]; });
  add_channel_bias(cx, y);
}

void ConvTranspose::vjp(VjpCx& cx, const Attrs& a) {
  const Value x = cx.in(0), w = cx.in(1), g = cx.grad();
  cx.set(0, conv(g, w, sized(a.as_conv(), x.shape())));
  cx.set(1, conv_grad_w(g, x, sized(a.as_conv(), w.shape())));
  set_bias_gradient(cx);
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = ConvTranspose::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, ONNX Runtime 1.32.0, tools/golden/spatial_samples.py";
  s.expect(source, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {-1.875, 1.125, 1.5, -1.375,
    1.625, -0.375, -1, 0.375, -0.25, -1.875, 0.5, -0.5, 0.375, -1.375, -1.875, -1, -0.75, -1.375,
    0.125, -0.5, -1.375, -1.875, 0.625, -1}}, In{.shape = {4, 2, 3}, .dtype = kF32, .values =
    {-1.625, -1.125, 0.25, 0.75, -1.25, 0.75, 0.625, -0.375, -1.125, -1.625, -0.5, 0.125, -1.625,
    0.125, 0.375, 0.125, 0, -0.5, 1.875, -1, 0.25, -2, 2, -1.5}}, In{.shape = {4}, .dtype = kF32,
    .values = {-1.375, -1.5, 0.375, -0.75}}}, Attrs{.strides = {2}, .pads_begin = {1}, .pads_end =
    {1}, .groups = 2, .output_padding = {1}}, {Expect{{2, 4, 6}, {1.25, -1.109375, -3.25, -5.59375,
    -2.921875, -0.578125, 1.53125, -4.875, -3.71875, 1.28125, -3.1875, -0.421875, 2.125, -0.140625,
    -0.078125, 0.109375, 0.84375, 0.15625, -4.5, 1.609375, 0.25, -0.71875, -1.75, 0.125, -1.421875,
    1.609375, 0.453125, 1.3125, 1.25, -0.296875, -1.46875, -1.15625, 0.59375, -1.796875, 1.53125,
    -3.078125, 2.265625, 1.9375, -0.3125, 0.703125, 1.203125, -0.390625, -4.5, 0.6875, 0.5,
    0.390625, -2.75, 1.4375}}});
  s.expect(source, {In{.shape = {1, 2, 4, 3}, .dtype = kF32, .values = {1.5, -1, -1, -0.25, 0.375,
    1.5, -1.25, 1.75, -0.25, -0.5, -1, 0.25, -1.375, 1.75, 0, 0.75, 1.125, -1.875, -0.25, -0.25, -2,
    1.125, -2, -0.375}}, In{.shape = {2, 3, 3, 2}, .dtype = kF32, .values = {-1.25, 1.75, -2,
    -1.125, 0.75, 1.125, 2, 0.75, -2, 0.75, -1.75, -0.75, -1.875, -0.75, 1.625, -0.25, 0.625, 0.75,
    0, -0.5, 0.625, 1.875, -1, 0.375, 1.5, -0.25, -0.125, 0.5, -1.125, -1.5, 1.5, 0.875, -0.125,
    -1.5, -0.625, 1.375}}}, Attrs{.strides = {1, 2}, .dilations = {2, 1}, .pads_begin = {1, 0},
    .pads_end = {0, 1}}, {Expect{{1, 3, 7, 5}, {0.3125, -0.8125, -0.46875, 0.09375, -1.875,
    -2.296875, -6.328125, 0.90625, 7.59375, 2.3125, 1.59375, 0.25, 1.203125, 0.9375, -4.484375,
    4.84375, 2.109375, -6.15625, -2.90625, -1.5, 0.765625, 2.671875, -0.09375, -1.78125, 2.265625,
    -0.6875, -1.5, 1.5625, 1.875, 1.8125, -1.5, -0.140625, 1.25, -1.875, 0.5625, 0.625, -0.375,
    2.4375, 0, 0.1875, -5.703125, -0.4375, 4.90625, 1.5, -1.5, 1.09375, -0.46875, -5.890625,
    0.59375, -2.828125, 1.453125, -0.125, -3.6875, -0.6875, 2.5, 0.453125, -0.75, 0.328125,
    -3.71875, -0.96875, 2.46875, 1.3125, -2.78125, -0.9375, 2.6875, -0.390625, -1.3125, 4, 3.75,
    -0.015625, 1.59375, 0.84375, 0.984375, 0.703125, -5.625, 4.578125, 2.40625, -5.5, -3.90625,
    -4.15625, 2.125, 0.296875, -0.65625, -2.78125, 1.640625, -0.203125, -0.078125, 1.15625, 1.59375,
    -0.78125, -1.578125, -0.71875, -1.84375, 5.078125, 2.5625, -0.625, -1.28125, 1.25, 0.96875,
    1.09375, -1.015625, 1.171875, 0.625, -3.5, 0.390625}}});
  s.expect(source, {In{.shape = {1, 2, 2, 3, 2}, .dtype = kF32, .values = {-1.75, -1.875, -2, 0.75,
    -1.875, 1, -1.75, -1.25, 0.25, -1.625, 2, 1.125, 0.375, -0.875, -1.25, 0, -0.75, -0.625, -1.125,
    -1.375, -1.25, 1.875, 1.625, -0.75}}, In{.shape = {2, 1, 2, 2, 3}, .dtype = kF32, .values =
    {-1.125, -0.125, -0.75, -0.5, 1.375, 1.375, 0.375, 1.25, 1, 1.5, 1.625, -0.875, 1.75, 0.5,
    0.125, -2, -1.75, -0.875, 0, 0.125, -0.625, -0.75, 0.125, 2}}}, Attrs{.strides = {2, 1, 2}},
    {Expect{{1, 1, 4, 4, 5}, {2.625, 0.40625, 1.9375, -0.203125, 1.296875, 0.1875, -3.4375,
    0.453125, -1.140625, -2.375, 4.296875, -0.703125, -2.9375, 0.59375, 0.203125, 2.4375, -1.265625,
    -1.171875, 2.46875, 1.921875, -0.65625, -2.140625, -2.6875, -2.453125, -1.328125, -3.65625,
    -5.453125, -0.8125, -2.21875, 0.640625, -2.765625, -5.84375, -0.65625, 2.390625, 0.734375,
    -2.25, -3.140625, 2.109375, 1.546875, -2.125, 0, -0.34375, 0.171875, -0.53125, 0.765625,
    0.65625, -1.09375, 6.71875, 1.828125, 0.9375, 2.96875, 3.09375, -5.375, -6.03125, -4.8125,
    -4.25, -0.09375, 2.265625, 2.859375, 2.203125, -0.65625, -2.328125, -1.515625, -1.734375,
    -0.390625, -1.6875, -2.828125, -1.140625, -4, -4.453125, 2.0625, 2.953125, -5.15625, -1.09375,
    6.765625, 1.78125, 3.453125, 3.75, 1.734375, -2.484375}}});
  s.expect(source, {In{.shape = {1, 2, 3, 4}, .dtype = kF32, .values = {1.875, 0.625, 0, 1.75, -2,
    -1.125, -0.75, 0.5, -0.125, -0.5, 0.125, 0.75, 0.625, 1, 0.75, 0.875, -2, -0.875, 1.375, 1.5,
    -0.625, -0.5, -1.625, 0.375}}, In{.shape = {2, 2, 3, 2}, .dtype = kF32, .values = {1.125, 1.875,
    -1.75, 1.25, 0.125, -1.375, 1.875, 1.25, -1.25, -0.75, -0.625, -0.75, -1.375, -0.5, 2, -0.375,
    -1.625, 1.625, -0.625, 0.375, 1.625, -0.75, -1.375, -1}}}, Attrs{.strides = {2, 3}, .auto_pad =
    AutoPad::same_lower, .sizes = {6, 11}}, {Expect{{1, 2, 6, 11}, {-2.03125, 2.109375, 0, 0.90625,
    0.40625, 0, 1.5, -0.28125, 0, -1.3125, 1.859375, -0.28125, -4.3125, 0, -1.609375, -0.90625, 0,
    -3.953125, -0.875, 0, -2.703125, -0.796875, -0.5, -1.75, 0, 0.21875, -1.078125, 0, 4.0625,
    -1.453125, 0, 2.125, 0.0625, 3.71875, -0.421875, 0, 1.40625, -0.5625, 0, 0.046875, 4.3125, 0,
    -2.046875, 2.96875, -1.03125, 0.078125, 0, -0.125, -0.4375, 0, -3.46875, 0.765625, 0, -0.5625,
    0.796875, 1, -0.84375, 0, 0.75, -0.125, 0, 2.65625, -2.8125, 0, -0.515625, -0.421875, -1.328125,
    -1.875, 0, 0.84375, -1.21875, 0, 1.21875, -0.5625, 0, -0.765625, -1.96875, -4.53125, -5.28125,
    0, -3.328125, -3.203125, 0, -3.296875, -1.171875, 0, -2.296875, -1, -0.75, 3, 0, -0.015625, 1.5,
    0, 3.171875, -0.46875, 0, 1.8125, -1.5, 4.15625, 3.109375, 0, 1.28125, 0.90625, 0, -0.171875,
    -1.265625, 0, -1.203125, -0.796875, -0.859375, 0.5625, 0, -0.1875, 0.75, 0, -2.796875, 1.125, 0,
    -0.328125, -0.84375, 0.9375, 0.71875, 0, 1, 0.875, 0, 2.15625, 1.53125, 0, -0.984375,
    -0.9375}}});
  // clang-format on
  // golden:end
}

}  // namespace

void ConvTranspose::samples(Samples& s) {
  for (const ConvShapes& c : conv_shapes()) {
    const std::vector<int64_t> y = conv_output(c);
    const auto a = Attrs::from_conv(c.a, places_of(c.x));
    Sample& sample = s.add(conv_inputs(y, c.w, c.bias ? c.x[1] : 0), a);
    sample.length = c.w[0] / c.a.groups * product_of(c.w, 2);
    sample.row_inputs = c.x[0] > 1 ? 1 : 0;
  }
  const In x{.shape = {1, 4, 5}}, w{.shape = {4, 3, 3}};
  s.add({x, w}, Attrs{.strides = {4}, .output_padding = {1}}).length = 12;
  s.add({x, w, In{.shape = {3}}}, Attrs{.strides = {3}, .auto_pad = AutoPad::same_lower}).length =
      12;
  s.add({In{.shape = {1, 9, 21}}, In{.shape = {9, 1, 32}}}, Attrs{.strides = {8}}).length = 36;
  s.add({In{.shape = {1, 6, 4, 5}}, In{.shape = {6, 5, 3, 4}}},
        Attrs{.strides = {2, 2}, .pads_begin = {1, 0}, .pads_end = {0, 2}, .groups = 2})
      .length = 12;
  s.bad({x, In{.shape = {3, 3, 3}}}, Attrs{}, "channels of x and w");
  s.bad({x, w}, Attrs{.output_padding = {1, 1}}, "output_padding has the wrong number");
  s.bad({x, w}, Attrs{.output_padding = {-1}}, "output_padding out of range");
  s.bad({x, w}, Attrs{.auto_pad = AutoPad::same_upper, .output_padding = {1}},
        "goes with pads that are given");
  s.bad({x, w}, Attrs{.pads_begin = {9}}, "size of the output");
  add_literal_samples(s);
}

}  // namespace lamella
