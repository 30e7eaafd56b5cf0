#include "lamella/ops/spatial/pool.h"

namespace lamella {
namespace {

// Windows that would start beyond x and its padding in front are left out.
Dim window_count(TypeCx& cx, const PoolAttrs& a, const ConvAttrs& c, size_t axis, Dim x) {
  const bool is_ceil =
      a.ceil_mode && (a.auto_pad == AutoPad::explicit_ || a.auto_pad == AutoPad::valid);
  const Dim floored = narrow_size(cx, c, axis, x, a.kernel[axis]);
  if (!is_ceil) return floored;
  const int64_t stride = conv_entry(a.strides, axis, 1);
  const bool is_padded = a.auto_pad == AutoPad::explicit_;
  const int64_t before = is_padded ? conv_entry(a.pads_begin, axis, 0) : 0;
  const int64_t after = is_padded ? conv_entry(a.pads_end, axis, 0) : 0;
  const int64_t reach = (a.kernel[axis] - 1) * conv_entry(a.dilations, axis, 1) + 1;
  const Dim n = ceildiv(x + before + after - reach, stride) + 1;
  return dim_select(dim_less((n - 1) * stride, x + before), n, n - 1);
}

}  // namespace

Shape pool_shape(TypeCx& cx, const PoolAttrs& a) {
  cx.require_float(0);
  const Shape& x = cx.shape(0);
  cx.check(x.rank() >= 3, "takes [batch, channels, ...]; got ", cx.in(0));
  const ConvAttrs c = a.as_conv({});
  check_conv_attrs(cx, c, x.rank() - 2);
  cx.check(a.kernel.size() == x.rank() - 2, "kernel has the wrong number of entries; got ",
           a.kernel.size(), "; want ", x.rank() - 2);
  Shape y{x[0], x[1]};
  for (size_t i = 0; i < a.kernel.size(); ++i) {
    cx.check(a.kernel[i] >= 1 && a.kernel[i] <= int64_t{1} << 31, "kernel out of range; got ",
             a.kernel[i], "; want 1 to 2^31");
    // Then every window holds an element.
    for (const auto* pads : {&a.pads_begin, &a.pads_end}) {
      const int64_t pad = conv_entry(*pads, i, 0);
      cx.check(pad >= 0 && pad <= (a.kernel[i] - 1) * conv_entry(a.dilations, i, 1),
               "padding reaches beyond a window; got ", pad, " along axis ", i);
    }
    y.dims.push_back(window_count(cx, a, c, i, x.dims[i + 2]));
  }
  return y;
}

ConvGeometry pool_geometry(const PoolAttrs& a, std::span<const int64_t> x,
                           std::span<const int64_t> y) {
  std::vector<int64_t> w{1, 1};
  w.insert(w.end(), a.kernel.begin(), a.kernel.end());
  ConvGeometry g = conv_geometry(a.as_conv({}), x, y, w);
  g.batch = x[0] * x[1];
  g.wide_channels = g.narrow_channels = 1;
  return g;
}

void add_pool_samples(Samples& s) {
  const std::vector<std::pair<std::vector<int64_t>, PoolAttrs>> cases{
      {{2, 3, 37}, {.kernel = {3}}},
      {{1, 2, 11},
       {.kernel = {4},
        .strides = {3},
        .pads_begin = {1},
        .pads_end = {2},
        .count_include_pad = true}},
      {{2, 3, 9, 21}, {.kernel = {2, 3}, .strides = {2, 2}, .pads_begin = {1, 0}}},
      {{1, 2, 8, 7},
       {.kernel = {3, 2},
        .strides = {2, 3},
        .pads_begin = {1, 1},
        .pads_end = {1, 1},
        .ceil_mode = true}},
      {{1, 2, 8, 7},
       {.kernel = {3, 2},
        .strides = {3, 3},
        .pads_begin = {1, 1},
        .pads_end = {1, 1},
        .ceil_mode = true,
        .count_include_pad = true}},
      {{1, 1, 9, 8}, {.kernel = {2, 3}, .dilations = {3, 2}, .pads_end = {2, 1}}},
      {{1, 2, 5, 6, 7}, {.kernel = {2, 1, 3}, .strides = {2, 1, 2}}},
      {{1, 2, 7, 5}, {.kernel = {3, 3}, .strides = {2, 2}, .auto_pad = AutoPad::same_upper}},
      {{1, 2, 7, 6}, {.kernel = {2, 3}, .strides = {2, 2}, .auto_pad = AutoPad::same_lower}},
      {{0, 2, 5}, {.kernel = {3}}},
  };
  for (const auto& [shape, a] : cases) {
    int64_t taps = 1;
    for (int64_t k : a.kernel) taps *= k;
    s.add({In{.shape = shape}}, a).length = taps;
  }
  const In x{.shape = {1, 2, 5}};
  s.bad({In{.shape = {2, 5}}}, PoolAttrs{.kernel = {3}}, "[batch, channels, ...]");
  s.bad({x}, PoolAttrs{.kernel = {3, 3}}, "kernel has the wrong number");
  s.bad({x}, PoolAttrs{.kernel = {0}}, "kernel out of range; got 0");
  s.bad({x}, PoolAttrs{.kernel = {6}}, "reach of the kernel");
  s.bad({x}, PoolAttrs{.kernel = {2}, .pads_begin = {2}}, "padding reaches beyond a window");
  s.bad({x}, PoolAttrs{.kernel = {2}, .strides = {0}}, "strides out of range");
}

}  // namespace lamella
