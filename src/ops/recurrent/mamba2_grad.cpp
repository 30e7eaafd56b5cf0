#include "lamella/ops/recurrent/mamba2_grad.h"

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/mamba2_heads.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

enum : size_t { kState, kX, kDt, kA, kB, kC, kStart, kSlot, kDNext, kDY };

}  // namespace

void Mamba2Grad::type(TypeCx& cx, const NoAttrs&) {
  check_mamba2_inputs(cx);
  require_sizes(cx, kDNext, cx.shape(kState));
  require_sizes(cx, kDY, cx.shape(kX));
  const DType type = cx.in(kX).dtype;
  const Dim tokens = cx.shape(kX)[0], heads = cx.shape(kX)[1], n = cx.shape(kB)[2];
  cx.out(cx.in(kDNext).dtype, cx.shape(kState));
  cx.out(type, cx.shape(kX));
  for (int i = 0; i < 2; ++i) cx.out(type, {tokens, heads});
  for (int i = 0; i < 2; ++i) cx.out(type, {tokens, heads, n});
}

// The states before each token, by the forward rule; then the tokens from the last one on.
Values Mamba2Grad::expand(const Args& args, const NoAttrs&) {
  const Dim tokens = args[kX].shape()[0], heads = args[kX].shape()[1], p = args[kX].shape()[2],
            n = args[kB].shape()[2];
  const DType type = wide_dtype(args[kX].dtype());
  const auto over = [](Value x, int64_t axis) { return sum(x, {.axes = {axis}}); };
  const auto a_head = [&](Value x) { return reshape_to(x, {heads, 1, 1}); };
  const auto column = [&](Value x) { return reshape_to(x, {heads, p, 1}); };
  const Values forward = ragged_scan(
      args[kState], {args[kX], args[kDt], args[kB]}, {args[kA]}, {args[kStart], args[kSlot], {}},
      type, [&](Value h, const Values& x, const Values& captures) {
        const Value dt = a_head(x[1]), decay = exp(dt * a_head(captures[0]));
        return std::pair(h * decay + dt * column(x[0]) * for_heads(x[2], heads), h);
      });
  const auto back = [&](Value d_next, const Values& x, const Values& captures) {
    const Value dt = a_head(x[1]), a = a_head(captures[0]), decay = exp(dt * a);
    const Value b = for_heads(x[2], heads), d_y = column(x[4]), in = dt * column(x[0]);
    const Value h = x[5] * decay + in * b, d_h = d_next + d_y * for_heads(x[3], heads);
    const Value d_decayed = d_h * decay, d_in = over(d_h * b, 2);
    const Value d_g = sum(d_decayed * x[5], {.axes = {1, 2}});
    const Value d_dt = over(d_in * x[0], 1) + d_g * captures[0];
    const Value all =
        concat({d_in * reshape_to(x[1], {heads, 1}), over(d_h * in, 1), over(d_y * h, 1),
                reshape_to(d_dt, {heads, 1}), reshape_to(d_g * x[1], {heads, 1})},
               {.axis = 1});
    return std::pair(d_decayed, all);
  };
  const Values out =
      ragged_scan(args[kDNext], {args[kX], args[kDt], args[kB], args[kC], args[kDY], forward[1]},
                  {args[kA]}, {args[kStart], args[kSlot], {}, true}, type, back);
  const auto part = [&](Dim from, Dim size) { return slice_axis(out[1], 2, from, from + size); };
  const auto one = [&](Dim from) { return reshape_to(part(from, 1), {tokens, heads}); };
  Values results{out[0],     part(0, p),    one(p + n * 2), one(p + n * 2 + 1),
                 part(p, n), part(p + n, n)};
  for (size_t i = 1; i < results.size(); ++i) results[i] = as_dtype(results[i], args[kX].dtype());
  return results;
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {-0.875, 0.25, -0.375, 0,
    0.625, 0.375, 0.875, 0.875, -0.5, 0, -0.625, 0.625, 0.125, 0.5, 0.375, 0.125, 0.875, -0.5,
    -0.75, 0, 0.875, 1, 1, 0.5}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0.875, 0.625,
    -0.5, -0.875, 0.125, -0.25, -0.375, 0.625, 0.375, -1, -0.875, 0.75, 0.625, 0.125, -0.625, 0.5,
    -0.875, -0.875, -0.875, -0.875}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0, 1, 0.25,
    0.75, 0.25, 1, 0.875, 0.625, 0.375, 0.625}}, In{.shape = {2}, .dtype = kF32, .values = {-0.75,
    -1.25}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-0.875, 0.5, -0.125, 0, -0.25, -0.625,
    0, 0.875, -0.375, -0.375, 0, 0, -0.375, 0.375, -0.625, -0.875, -0.625, 0.75, -0.5, 0.375}},
    In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0.625, 0.375, -0.125, -0.375, -0.5, 0.5, 0.5,
    0, 0.25, 0.125, 0.125, 0.875, 0.875, 0.375, 0.125, 0.625, 0.375, -0.5, 0, -0.875}}, In{.shape =
    {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1,
    0}}, In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {0.5, -0.25, -0.625, 0, -0.5, 0, 0.375,
    -0.625, -0.625, 0.5, 1, 0.5, -0.5, 0.75, 0.625, 0.75, 1, -0.125, -0.5, -0.875, -0.375, -0.5, 0,
    0.25}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0.375, 0.75, 0.875, -0.125, -0.75,
    0.875, 0.625, 0.25, 1, -0.5, -1, 0.25, -0.625, -0.25, -0.375, -0.125, 0.875, 1, -0.875,
    0.875}}}, NoAttrs{}, {Expect{{3, 2, 2, 2}, {0.240902097, -0.220373363, -0.278874959,
    -0.254461926, -0.0719890955, -0.235455652, 0.0294242214, -0.0310883681, -0.625, 0.5, 1, 0.5,
    -0.5, 0.75, 0.625, 0.75, 1.37429004, -0.273889559, -0.308464798, -0.0814502392, -0.0383487678,
    -0.150107832, 0.0185012488, 0.041479135}}, Expect{{5, 2, 2}, {0, 0, 0.016731294, -0.00807196292,
    -0.0078125, 0.126953125, -0.328125, 0.1640625, -0.00232147318, 0.0603119142, 0, 0, -0.272853581,
    -0.0209048111, 0.0442095884, 0.329944069, -0.387451172, -0.08203125, 0.335693359,
    -0.443115234}}, Expect{{5, 2}, {-2.20687688, 0.179225055, -1.4715549, 0.338732145, -0.123751442,
    0.168431478, -0.141524496, 0.321027583, 1.49478971, -0.0365918669}}, Expect{{5, 2}, {0,
    -0.144422187, 0.446898509, -0.0227705373, -0.0403261416, -0.134745182, -0.0657502076,
    -0.0506409581, -0.199665361, 0.093491246}}, Expect{{5, 2, 2}, {0, 0, 0.0104214354, 0.135284551,
    0.1015625, 0.01171875, 0.076171875, 0.2578125, 0.111339046, 0.0518141979, 0.296883771,
    0.637711554, -0.0017857846, -0.463510024, 0.15650066, -0.268747376, -0.189697266, 0.389648438,
    0.068359375, 0.341796875}}, Expect{{5, 2, 2}, {-0.234375, -0.1875, 0.22455776, 0.232785147,
    -1.06856947, 0.359714044, 0.115411958, 0.0328781366, -0.651988769, 0.12522603, -0.116392574,
    -0.0447663745, 0.413197163, -0.206389973, -0.112228859, -0.126787004, -0.127529843,
    -0.199330317, -0.162909805, -0.220191552}}});
  s.expect(source, {In{.shape = {3, 2, 2, 3}, .dtype = kF32, .values = {0.75, -0.25, 0.125, -1, -1,
    -0.875, 0.75, 0.875, 0.625, -0.375, -0.625, -1, 0, 0.875, -0.25, -1, 0.25, 0.125, 1, 1, 0.125,
    -1, -1, -0.125, -0.75, -0.5, 1, -0.375, 0.875, 1, -0.125, 0.125, 1, 0, -1, 0.25}}, In{.shape =
    {5, 2, 2}, .dtype = kF32, .values = {0.75, 0.125, 0.875, 0.375, 0.625, 0, -0.125, -0.5, 0.625,
    -0.625, 0.375, -0.375, 0, -0.875, -0.125, 0.875, 0.875, -0.625, 0.25, 0.625}}, In{.shape = {5,
    2}, .dtype = kF32, .values = {0, 0.5, 0.75, 0.25, 0.625, 0.25, 0.25, 1, 0.5, 0.875}}, In{.shape
    = {2}, .dtype = kF32, .values = {-1.25, -0.25}}, In{.shape = {5, 1, 3}, .dtype = kF32, .values =
    {0.375, -0.25, 0.375, -0.625, 0.125, -0.375, 1, 1, -0.375, 0.375, -0.625, -0.75, -0.375, -0.125,
    -1}}, In{.shape = {5, 1, 3}, .dtype = kF32, .values = {0.375, -0.875, 0, -0.5, 0.375, 0.375,
    -0.875, -0.875, -1, 0.25, 0.125, 0.125, 0, -0.125, -0.75}}, In{.shape = {4}, .dtype = kI32,
    .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {3,
    2, 2, 3}, .dtype = kF32, .values = {-0.375, 0.125, -0.75, 0, -0.875, -0.5, -0.875, -0.375, -1,
    0, -0.25, -0.875, 0.625, 1, -0.75, -1, -0.125, 0.375, -0.75, -0.5, 0.75, 0.625, -0.375, 1,
    -0.625, -0.875, 0.375, 0.75, 0.25, 1, 0.25, 1, -1, 0.25, -0.5, -1}}, In{.shape = {5, 2, 2},
    .dtype = kF32, .values = {-0.75, 0.375, -0.75, 0.5, 0.125, -0.25, 0.375, 0.25, -0.5, -0.125,
    -0.875, -0.25, 0.875, 0.125, 0.5, -0.25, 0.875, 0.375, 0.25, 0.75}}}, NoAttrs{}, {Expect{{3, 2,
    2, 3}, {0.206340372, 0.23973954, 0.0134259848, 0.0605429628, -0.109973837, -0.077607517,
    0.296304116, 0.526142048, 0.16961717, 0.159770631, -0.019446581, -0.633072378, 0.625, 1, -0.75,
    -1, -0.125, 0.375, -0.75, -0.5, 0.75, 0.625, -0.375, 1, -0.550478868, 0.33195159, 0.165208624,
    0.483279923, -0.266936621, 0.354892599, -0.196387934, 1.52474993, -0.712446898, 0.269096809,
    -0.722885474, -0.751307638}}, Expect{{5, 2, 2}, {0, 0, -0.4090669, -6.10157771e-05, 0.125976563,
    -0.650390625, 0.106445312, 0.052734375, 0.602082008, -0.0277503462, 0.201945171, 0.100521859,
    0.103918966, 0.153066675, 0.616938351, 1.05846083, 0.772460938, 0.448242187, 1.37060547,
    1.29541016}}, Expect{{5, 2}, {-0.563198404, -0.725351312, -0.906539924, 0.0226795949,
    0.362537238, -0.191346437, -1.07014116, 0.826726093, 0.552713532, 1.14018024}}, Expect{{5, 2},
    {0, 0.0188769496, 0.606912236, -0.181371001, 0.133647559, 0.343481404, 0.10688156, 0.0892393497,
    0.0955161495, 0.618500013}}, Expect{{5, 2, 3}, {0, 0, 0, -0.0401860554, 0.602310406,
    -0.512824123, -0.322265625, -0.388183594, 0.197753906, -0.017578125, 0.0151367188, 0.140136719,
    0.124394852, 0.298376656, 0.0776700971, 0.0136255442, 0.0544477568, 0.0801054915, -0.0068359375,
    0.104522935, 0.088057373, 0.0175727815, -0.236036893, -0.926564105, -0.1640625, 0.294921875,
    -0.37109375, -0.19140625, -0.276855469, -1.04589844}}, Expect{{5, 2, 3}, {0.421875, 0.703125,
    -0.375, -0.00515654038, -0.465388786, -0.639451189, -0.0366210938, -0.102814864, -0.0709233596,
    0.0623037699, -0.223306994, 0.453122562, -0.260942715, -0.0320260346, 0.0763925795,
    -0.587013598, -0.631048585, -0.256915597, 0.38203307, 0.116288533, -0.0598698811, 0.292235506,
    0.66493746, 0.601936505, 0.0108358838, -0.0357285576, -0.300595644, -0.0704372103, -0.548282518,
    -1.17954247}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Mamba2Grad::samples(Samples& s) {
  const auto inputs = [](int64_t slots, int64_t tokens, int64_t heads, int64_t groups, int64_t p,
                         int64_t n, In q_start, In slot) {
    std::vector<In> in =
        mamba2_inputs(slots, tokens, heads, groups, p, n, std::move(q_start), std::move(slot));
    in.push_back(In{.shape = {slots, heads, p, n}});
    in.push_back(In{.shape = {tokens, heads, p}});
    return in;
  };
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(inputs(4, 7, 4, 2, 3, 17, starts, slots)).length = 17;
  s.add(inputs(4, 7, 2, 1, 5, 4, starts, slots)).length = 7;
  s.add(inputs(1, 0, 2, 1, 3, 4, ragged_ints({0, 0}), ragged_ints({0})));
  Sample& longer =
      s.add(inputs(2, 150, 2, 1, 20, 33, ragged_ints({0, 67, 150}), ragged_ints({1, 0})));
  longer.length = 83, longer.grad = false;
  std::vector<In> bad = inputs(2, 4, 4, 2, 3, 5, ragged_ints({0, 4}), ragged_ints({0}));
  bad[9] = In{.shape = {4, 4, 4}};
  s.bad(bad, NoAttrs{}, "sizes of d_y at axis 2");
  bad[9] = In{.shape = {4, 4, 3}}, bad[7] = ragged_ints({2});
  s.bad(bad, NoAttrs{}, "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
