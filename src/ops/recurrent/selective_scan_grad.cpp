#include "lamella/ops/recurrent/selective_scan_grad.h"

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

enum : size_t { kState, kX, kDt, kA, kB, kC, kStart, kSlot, kDNext, kDY };

}  // namespace

void SelectiveScanGrad::type(TypeCx& cx, const NoAttrs&) {
  check_selective_scan_inputs(cx);
  require_sizes(cx, kDNext, cx.shape(kState));
  require_sizes(cx, kDY, cx.shape(kX));
  cx.out(cx.in(kDNext).dtype, cx.shape(kState));
  for (size_t i : {kX, kDt, kA, kB, kC}) cx.out(cx.in(kX).dtype, cx.shape(i));
}

// The states before each token, by the forward rule; then the tokens from the last one on.
Values SelectiveScanGrad::expand(const Args& args, const NoAttrs&) {
  const Dim tokens = args[kX].shape()[0], channels = args[kX].shape()[1], n = args[kB].shape()[1];
  const DType type = wide_dtype(args[kX].dtype());
  const auto over = [](Value x, int64_t axis) { return sum(x, {.axes = {axis}}); };
  const auto column = [&](Value x) { return reshape_to(x, {channels, 1}); };
  const auto row = [&](Value x) { return reshape_to(x, {1, n}); };
  const Values forward = ragged_scan(
      args[kState], {args[kX], args[kDt], args[kB]}, {args[kA]}, {args[kStart], args[kSlot], {}},
      type, [&](Value h, const Values& x, const Values& captures) {
        const Value dt = column(x[1]);
        return std::pair(h * exp(dt * captures[0]) + dt * column(x[0]) * row(x[2]), h);
      });
  const auto back = [&](Value d_next, const Values& x, const Values& captures) {
    const Value dt = column(x[1]), decay = exp(dt * captures[0]), in = dt * column(x[0]);
    const Value b = row(x[2]), d_y = column(x[4]), h = x[5] * decay + in * b;
    const Value d_h = d_next + d_y * row(x[3]), d_decayed = d_h * decay, d_in = over(d_h * b, 1);
    const Value d_g = d_decayed * x[5];
    const Value all =
        concat({d_in * x[1], d_in * x[0] + over(d_g * captures[0], 1), over(d_h * in, 0),
                over(d_y * h, 0), reshape_to(d_g * dt, {channels * n})},
               {.axis = 0});
    return std::pair(d_decayed, all);
  };
  const Values out =
      ragged_scan(args[kDNext], {args[kX], args[kDt], args[kB], args[kC], args[kDY], forward[1]},
                  {args[kA]}, {args[kStart], args[kSlot], {}, true}, type, back);
  const auto part = [&](Dim from, Dim size) { return slice_axis(out[1], 1, from, from + size); };
  const Value d_a = part(channels * 2 + n * 2, channels * n);
  Values results{out[0],
                 part(0, channels),
                 part(channels, channels),
                 over(reshape_to(d_a, {tokens, channels, n}), 0),
                 part(channels * 2, n),
                 part(channels * 2 + n, n)};
  for (size_t i = 1; i < results.size(); ++i) results[i] = as_dtype(results[i], args[kX].dtype());
  return results;
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-0.625, -0.875, 0.5, -0.875,
    0.75, 0.25, 0.25, 0.125, -1, 0.625, 0, -0.625, 0.75, -1, -0.25, 0.75, -0.75, 0.75}}, In{.shape =
    {5, 2}, .dtype = kF32, .values = {0.25, -0.25, -0.625, -0.75, 0.875, 0.375, -0.875, 0.125,
    -0.75, 0}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.75, 0, 0.625, 0.125, 0.375, 0.375,
    0.5, 0.375, 0.375, 0.875}}, In{.shape = {2, 3}, .dtype = kF32, .values = {-0.25, -1.75, -0.625,
    -0.375, -0.625, -1.75}}, In{.shape = {5, 3}, .dtype = kF32, .values = {1, 0.125, -1, 0.875,
    -0.625, -0.875, -0.5, 0.75, 0.5, 0.5, -0.25, 0.5, -0.125, 0, 0.125}}, In{.shape = {5, 3}, .dtype
    = kF32, .values = {-0.875, 0.125, 0.75, -1, 0.875, -1, -0.875, -0.25, 0.125, -0.5, -0.625,
    0.375, 0.625, 0.75, -0.5}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape =
    {3}, .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {3, 2, 3}, .dtype = kF32, .values = {1,
    -0.125, -1, 0.5, 0.75, -0.375, 0, -0.875, -1, -0.5, -1, -0.375, -0.75, -0.875, -0.625, 0.75,
    -0.125, -0.25}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.75, -0.375, 0.25, 0.375, -0.75,
    -0.375, -0.875, 0.25, -0.75, 0.5}}}, NoAttrs{}, {Expect{{3, 2, 3}, {1.33773435, 0.138408369,
    -0.550212386, 0.632473578, 0.383831602, -0.035465322, 0, -0.875, -1, -0.5, -1, -0.375,
    -1.25315654, -0.0339302616, -0.0184948057, 0.6859525, 0.140984915, -0.783451609}}, Expect{{5,
    2}, {-1.12334924, 0, 0.187988281, 0.0935058594, -0.330855697, -0.0128476707, 0.000891396474,
    0.0321339455, -0.0541992188, -0.157226563}}, Expect{{5, 2}, {-0.201750667, 0.529685969,
    -0.236727202, 0.0855248059, -0.179096447, 0.0302777371, 0.386754813, -0.0281983315, 0.286192331,
    -0.0368744374}}, Expect{{2, 3}, {-1.90610255, 0.00250887727, -0.176152062, -0.656009164,
    0.501161797, -0.067061977}}, Expect{{5, 3}, {-0.283424124, -0.0236374154, -0.00554149039,
    0.35546875, 0.237304688, 0.400390625, 0.584456916, 0.155772639, -0.237835265, -0.381455879,
    -0.0600184596, 0.357920191, -0.149414062, 0.193359375, 0.17578125}}, Expect{{5, 3},
    {0.325703879, 0.0969683635, -0.539209502, 0.325211409, -0.197681455, 0.284020285, 0.861295735,
    -0.106150141, -0.494700338, 0.582985297, 0.115374124, -0.135025744, 0.313405042, 0.147724238,
    -0.0729956194}}});
  s.expect(source, {In{.shape = {3, 3, 2}, .dtype = kF32, .values = {-0.125, 0.125, -0.875, -0.875,
    0.25, 1, -0.125, 1, -1, -0.125, -0.875, -0.125, -0.75, 0.375, -0.375, -0.25, 0.625, -0.375}},
    In{.shape = {5, 3}, .dtype = kF32, .values = {1, -0.5, -0.75, -0.875, -0.75, 0.75, 0.75, -0.875,
    -0.75, -0.375, -0.625, 0.75, 0.875, 0.625, 0.625}}, In{.shape = {5, 3}, .dtype = kF32, .values =
    {0.875, 0.375, 0, 1, 0.375, 0.375, 0.5, 0.625, 0.625, 0.25, 0.25, 0.5, 0.5, 0.25, 1}}, In{.shape
    = {3, 2}, .dtype = kF32, .values = {-0.25, -1.25, -1.5, -0.25, -1.625, -0.875}}, In{.shape = {5,
    2}, .dtype = kF32, .values = {0, 1, -0.125, 0.5, -0.5, -0.875, 0.5, 0.5, 1, 0.375}}, In{.shape =
    {5, 2}, .dtype = kF32, .values = {-0.875, 0.75, 0.875, 0, 1, -0.625, -0.75, 1, -0.125, -0.625}},
    In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values
    = {2, 1, 0}}, In{.shape = {3, 3, 2}, .dtype = kF32, .values = {-0.625, -0.375, 0.625, -0.375,
    -1, -0.25, 0.25, -0.125, -0.25, -0.125, -0.625, 0.125, -0.375, 0.75, -0.625, 0.875, 0, -0.125}},
    In{.shape = {5, 3}, .dtype = kF32, .values = {-0.75, -0.25, -0.25, -0.5, 0.125, 0.375, 0.125,
    0.75, -0.625, 0, -0.25, 0.625, -0.5, -0.5, -0.5}}}, NoAttrs{}, {Expect{{3, 3, 2}, {-0.301221678,
    -0.0549180108, 0.471343873, -0.649001241, -0.331363655, 0.469357465, 0.25, -0.125, -0.25,
    -0.125, -0.625, 0.125, 0.0188621812, -0.116438585, -0.0427589356, 0.554679786, 0.397148468,
    -0.277534122}}, Expect{{5, 3}, {-0.304168727, 0.228448712, 0, 0.4765625, 0.188232422,
    -0.0388183594, 0.130219874, 0.0388156465, -0.157589162, -0.0662322934, 0.0439122578,
    -0.000575204819, -0.29296875, 0.166015625, -0.9140625}}, Expect{{5, 3}, {-0.289504157,
    -0.293982698, -0.286269205, -0.781088365, -0.38794406, -0.288365109, 0.194497572, 0.422327907,
    -0.0869643027, 0.0566371106, -0.082252379, -0.211514319, -0.563184068, 0.499260677,
    -0.490620443}}, Expect{{3, 2}, {0.503578452, 0.178949843, -0.250910673, 0.203335075,
    -0.118294443, 0.535375217}}, Expect{{5, 2}, {0.0346108687, -0.418393083, 0.948242188, -0.9375,
    -0.357356523, -0.00367408501, -0.301596866, 0.295517957, -0.724609375, 0.001953125}}, Expect{{5,
    2}, {0.349148588, -0.552925052, 0.283401834, -0.0379690616, -0.292213956, -0.853155723,
    0.238725556, 0.599164279, -0.454704809, -0.1811913}}});
  // clang-format on
  // golden:end
}

}  // namespace

void SelectiveScanGrad::samples(Samples& s) {
  const auto inputs = [](int64_t slots, int64_t tokens, int64_t channels, int64_t n, In q_start,
                         In slot) {
    std::vector<In> in =
        selective_scan_inputs(slots, tokens, channels, n, std::move(q_start), std::move(slot));
    in.push_back(In{.shape = {slots, channels, n}});
    in.push_back(In{.shape = {tokens, channels}});
    return in;
  };
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(inputs(4, 7, 5, 16, starts, slots)).length = 16;
  s.add(inputs(4, 7, 3, 5, starts, slots)).length = 7;
  s.add(inputs(1, 0, 2, 3, ragged_ints({0, 0}), ragged_ints({0})));
  Sample& longer = s.add(inputs(2, 150, 67, 5, ragged_ints({0, 67, 150}), ragged_ints({1, 0})));
  longer.length = 150, longer.grad = false;
  std::vector<In> bad = inputs(2, 4, 3, 5, ragged_ints({0, 4}), ragged_ints({0}));
  bad[9] = In{.shape = {4, 4}};
  s.bad(bad, NoAttrs{}, "sizes of d_y at axis 1");
  bad[9] = In{.shape = {4, 3}}, bad[7] = ragged_ints({2});
  s.bad(bad, NoAttrs{}, "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
