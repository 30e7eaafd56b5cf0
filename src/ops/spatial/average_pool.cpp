#include "lamella/ops/spatial/average_pool.h"

#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/spatial/conv.h"

namespace lamella {
namespace {

// How many elements of the axes each window holds: [1, 1, windows...].
Value counts(Graph& g, DType type, const PoolAttrs& a, const Shape& x, Value taps, Shape windows) {
  Shape field{1, 1};
  ConvAttrs c = a.as_conv(std::move(windows));
  const bool with_pads = a.count_include_pad && a.auto_pad == AutoPad::explicit_;
  for (size_t i = 0; i < a.kernel.size(); ++i) {
    Dim size = x.dims[i + 2];
    if (with_pads) size = size + conv_entry(a.pads_begin, i, 0) + conv_entry(a.pads_end, i, 0);
    field.dims.push_back(size);
  }
  if (with_pads) c.pads_begin.clear();
  return conv(full(g, field, type, 1), taps, c);
}

}  // namespace

Value AveragePool::expand(const Args& args, const Attrs& a) {
  const Value x = wide(args[0]);
  Graph& g = args.graph();
  // The windows, by the shape rule of a pool of the same attributes.
  Graph scratch = g.sub_graph("shape");
  const Shape y = Call<AveragePool>{}(scratch.input("x", x.type()), a).shape();
  const Shape windows = places_of(y);
  Shape each{x.shape()[0] * x.shape()[1], 1}, kernel{1, 1};
  for (size_t i = 0; i < a.kernel.size(); ++i) {
    each.dims.push_back(x.shape().dims[i + 2]);
    kernel.dims.push_back(a.kernel[i]);
  }
  const Value taps = full(g, kernel, x.dtype(), 1);
  const Value sums = reshape_to(conv(reshape_to(x, each), taps, a.as_conv(windows)), y);
  int64_t n_taps = 1;
  for (int64_t k : a.kernel) n_taps *= k;
  const bool all_count = a.count_include_pad && a.auto_pad != AutoPad::explicit_ && !a.ceil_mode;
  const Value mean = all_count ? sums / static_cast<double>(n_taps)
                               : sums / counts(g, x.dtype(), a, x.shape(), taps, windows);
  return as_dtype(mean, args[0].dtype());
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = PoolAttrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, ONNX Runtime 1.32.0, tools/golden/spatial_samples.py";
  s.expect(source, {In{.shape = {1, 2, 6, 4}, .dtype = kF32, .values = {-0.25, -1.875, -2, -1.125,
    -0.875, 0.75, -0.625, -0.75, -0.625, -1.875, 2, 0.25, 0.875, 2, 1.5, -1.375, -0.625, 0.75,
    1.625, 0.5, -0.25, 1.5, 1.25, -1.5, -0.375, 0.375, -2, -1.25, -0.375, 0.5, -1.25, -1.375, 0.375,
    -1, -1.375, 1.625, 1.375, 1.375, 1.875, -1.25, 0.125, 0.25, 1.5, 0.5, 0.875, -0.875, 0.375,
    0.375}}}, Attrs{.kernel = {3, 2}, .strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {1, 1}},
    {Expect{{1, 2, 3, 4}, {-0.5625, -0.9375, -1.125, -0.9375, 0.0416666679, 0.625, 0.166666672,
    -0.625, 0.708333313, 1.4375, 0.333333343, -0.791666687, 0.03125, -0.59375, -1.46875, -1.3125,
    0.375, 0.020833334, -0.291666657, -0.333333343, 0.520833313, 0.75, 0.5625, -0.125}}});
  s.expect(source, {In{.shape = {1, 2, 6, 4}, .dtype = kF32, .values = {-0.25, -1.875, -2, -1.125,
    -0.875, 0.75, -0.625, -0.75, -0.625, -1.875, 2, 0.25, 0.875, 2, 1.5, -1.375, -0.625, 0.75,
    1.625, 0.5, -0.25, 1.5, 1.25, -1.5, -0.375, 0.375, -2, -1.25, -0.375, 0.5, -1.25, -1.375, 0.375,
    -1, -1.375, 1.625, 1.375, 1.375, 1.875, -1.25, 0.125, 0.25, 1.5, 0.5, 0.875, -0.875, 0.375,
    0.375}}}, Attrs{.kernel = {3, 2}, .strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {1, 1},
    .count_include_pad = true}, {Expect{{1, 2, 3, 4}, {-0.375, -0.625, -0.75, -0.3125, 0.0416666679,
    0.625, 0.166666672, -0.3125, 0.708333313, 1.4375, 0.333333343, -0.395833343, 0.020833334,
    -0.395833343, -0.979166687, -0.4375, 0.375, 0.020833334, -0.291666657, -0.166666672,
    0.520833313, 0.75, 0.5625, -0.0625}}});
  s.expect(source, {In{.shape = {1, 3, 10}, .dtype = kF32, .values = {0, 1.75, 0.5, 1.5, -0.125,
    -0.75, -0.375, -1, -0.625, 1.25, -0.75, 1.375, 0.5, 1.25, 1.75, 0, 0.875, -0.5, 1.875, 0.625,
    -0.5, -0.75, 1, -0.75, -1.75, 1.875, 1.75, 2, -1.125, -1.375}}}, Attrs{.kernel = {3}, .strides =
    {2}, .dilations = {2}, .pads_begin = {2}, .ceil_mode = true}, {Expect{{1, 3, 5}, {0.25, 0.125,
    0, -0.375, -0.5, -0.125, 0.5, 1.04166663, 1.5, 1.375, 0.25, -0.416666657, 0.333333343, -0.375,
    0.3125}}});
  s.expect(source, {In{.shape = {1, 3, 10}, .dtype = kF32, .values = {0, 1.75, 0.5, 1.5, -0.125,
    -0.75, -0.375, -1, -0.625, 1.25, -0.75, 1.375, 0.5, 1.25, 1.75, 0, 0.875, -0.5, 1.875, 0.625,
    -0.5, -0.75, 1, -0.75, -1.75, 1.875, 1.75, 2, -1.125, -1.375}}}, Attrs{.kernel = {3}, .strides =
    {2}, .dilations = {2}, .pads_begin = {2}, .ceil_mode = true, .count_include_pad = true},
    {Expect{{1, 3, 5}, {0.166666672, 0.125, 0, -0.375, -0.5, -0.0833333358, 0.5, 1.04166663, 1.5,
    1.375, 0.166666672, -0.416666657, 0.333333343, -0.375, 0.3125}}});
  s.expect(source, {In{.shape = {1, 2, 3, 4, 4}, .dtype = kF32, .values = {1.875, 1.5, 0.375,
    -0.375, -2, -0.125, 1.875, 1.625, 2, -0.625, 0, -0.125, -0.625, 0.5, 1.875, -0.125, 1.875, 0.75,
    -1.875, 1.25, 0.5, 0.125, -1.875, 0.625, -2, -0.75, -2, -0.625, -0.125, -1.625, 0.5, -0.625,
    -1.375, 0.625, 0.875, -1, -0.75, 1.25, 0, -1.875, 1.25, -0.625, -0.875, -1.375, 0.75, 0, -0.125,
    0.375, 1, 1.75, 1.625, 1.625, -1, -0.625, -1, -0.75, -1.25, 1.625, 1.25, -0.375, 0.5, 0.75,
    1.125, -1.375, 0.125, -0.375, 1.5, -1.5, -2, -0.25, 1.25, 2, -1.125, 0.125, -1.375, 1, -0.625,
    -1.75, 1.125, -1, -0.5, 0.375, 0.125, 1.25, -0.125, 2, 1.125, 0.625, -2, 1.125, 1.25, -1.25, 0,
    0.875, -2, 0.625}}}, Attrs{.kernel = {2, 2, 3}}, {Expect{{1, 2, 2, 3, 2}, {0.25, 0.322916657,
    -0.40625, -0.15625, -0.239583328, -0.302083343, 0.010416667, -0.09375, -0.479166657,
    -0.666666687, -0.46875, -0.645833313, 0.166666672, 0.4375, -0.364583343, 0.239583328, 0.03125,
    0.09375, 0.270833343, 0.677083313, 0, 0.635416687, -0.364583343, -0.104166664}}});
  s.expect(source, {In{.shape = {1, 2, 3, 4, 4}, .dtype = kF32, .values = {1.875, 1.5, 0.375,
    -0.375, -2, -0.125, 1.875, 1.625, 2, -0.625, 0, -0.125, -0.625, 0.5, 1.875, -0.125, 1.875, 0.75,
    -1.875, 1.25, 0.5, 0.125, -1.875, 0.625, -2, -0.75, -2, -0.625, -0.125, -1.625, 0.5, -0.625,
    -1.375, 0.625, 0.875, -1, -0.75, 1.25, 0, -1.875, 1.25, -0.625, -0.875, -1.375, 0.75, 0, -0.125,
    0.375, 1, 1.75, 1.625, 1.625, -1, -0.625, -1, -0.75, -1.25, 1.625, 1.25, -0.375, 0.5, 0.75,
    1.125, -1.375, 0.125, -0.375, 1.5, -1.5, -2, -0.25, 1.25, 2, -1.125, 0.125, -1.375, 1, -0.625,
    -1.75, 1.125, -1, -0.5, 0.375, 0.125, 1.25, -0.125, 2, 1.125, 0.625, -2, 1.125, 1.25, -1.25, 0,
    0.875, -2, 0.625}}}, Attrs{.kernel = {2, 2, 3}, .count_include_pad = true}, {Expect{{1, 2, 2, 3,
    2}, {0.25, 0.322916657, -0.40625, -0.15625, -0.239583328, -0.302083343, 0.010416667, -0.09375,
    -0.479166657, -0.666666687, -0.46875, -0.645833313, 0.166666672, 0.4375, -0.364583343,
    0.239583328, 0.03125, 0.09375, 0.270833343, 0.677083313, 0, 0.635416687, -0.364583343,
    -0.104166664}}});
  // clang-format on
  // golden:end
}

}  // namespace

void AveragePool::samples(Samples& s) {
  add_pool_samples(s);
  add_literal_samples(s);
}

}  // namespace lamella
