#include "lamella/ops/recurrent/gated_delta_net_grad.h"

#include <cmath>

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/delta_heads.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

enum : size_t { kState, kQ, kK, kV, kG, kBeta, kStart, kSlot, kDNext, kDY };

}  // namespace

void GatedDeltaNetGrad::type(TypeCx& cx, const Attrs& a) {
  check_delta_inputs(cx, a);
  const Dim tokens = cx.shape(kQ)[0], dk = cx.shape(kQ)[2], hv = cx.shape(kV)[1];
  require_sizes(cx, kDNext, cx.shape(kState));
  require_sizes(cx, kDY, cx.shape(kV));
  cx.out(cx.in(kDNext).dtype, cx.shape(kState));
  for (size_t i = 0; i < 2; ++i) cx.out(cx.in(kQ).dtype, {tokens, hv, dk});
  for (size_t i : {kV, kG, kBeta}) cx.out(cx.in(i).dtype, cx.shape(i));
}

// The states before each token, by the forward rule; then the tokens from the last one on.
Values GatedDeltaNetGrad::expand(const Args& args, const Attrs& a) {
  const Dim hv = args[kV].shape()[1], dv = args[kV].shape()[2], dk = args[kQ].shape()[2];
  const bool per_channel = args[kG].shape().rank() == 3;
  const DType type = wide_dtype(args[kV].dtype());
  const double scale = delta_scale(a, dk);
  const Shape decay_shape = per_channel ? Shape{hv, dk, 1} : Shape{hv, 1, 1};
  const auto key = [&](Value x) { return for_value_heads(x, hv, a.head_map); };
  const auto row = [&](Value x) { return reshape_to(x, {hv, 1, dv}); };
  const auto over = [](Value x, int64_t axis) { return sum(x, {.axes = {axis}}); };
  const Values forward = ragged_scan(
      args[kState], {args[kK], args[kV], args[kG], args[kBeta]}, {},
      {args[kStart], args[kSlot], {}}, type, [&](Value state, const Values& x, const Values&) {
        const Value decayed = state * exp(reshape_to(x[2], decay_shape)), k = key(x[0]);
        const Value d = (x[1] - over(decayed * k, 1)) * reshape_to(x[3], {hv, 1});
        return std::pair(decayed + k * row(d), state);
      });
  const auto back = [&](Value d_next, const Values& x, const Values&) {
    const Value q = key(x[0]), k = key(x[1]), decay = exp(reshape_to(x[3], decay_shape)),
                beta = reshape_to(x[4], {hv, 1}), d_y = row(x[5] * scale);
    const Value decayed = x[6] * decay, missing = x[2] - over(decayed * k, 1), d = missing * beta;
    const Value d_state = d_next + q * d_y;
    const Value d_d = over(d_state * k, 1), d_v = d_d * beta;
    const Value d_k = over(d_state * row(d), 2) - over(decayed * row(d_v), 2);
    const Value d_decayed = d_state - k * row(d_v);
    const Value d_q = over((decayed + k * row(d)) * d_y, 2);
    const Value all = concat(
        {d_q, d_k, d_v, over(d_decayed * decayed, 2), reshape_to(over(d_d * missing, 1), {hv, 1})},
        {.axis = 1});
    return std::pair(d_decayed * decay, all);
  };
  const Values out = ragged_scan(
      args[kDNext], {args[kQ], args[kK], args[kV], args[kG], args[kBeta], args[kDY], forward[1]},
      {}, {args[kStart], args[kSlot], {}, true}, type, back);
  const auto part = [&](Dim from, Dim n) { return slice_axis(out[1], 2, from, from + n); };
  Value d_g = part(dk * 2 + dv, dk);
  if (!per_channel) d_g = over(d_g, 2);
  Values results{out[0],       part(0, dk),
                 part(dk, dk), part(dk * 2, dv),
                 d_g,          reshape_to(part(dk * 3 + dv, 1), {args[kQ].shape()[0], hv})};
  for (size_t i = 1; i < results.size(); ++i) results[i] = as_dtype(results[i], args[i].dtype());
  return results;
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = GatedDeltaNet::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {-0.875, 0.75, -0.125, 0.375,
    -0.25, -0.25, 0.875, 1, -0.125, 0.25, 0.25, -0.5, 0.375, 0.75, -0.75, -0.625, 0.125, -1, 0.375,
    0.875, 0.125, -0.5, -0.375, -0.25}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0, 0,
    -0.25, -0.875, -0.75, 0, 1, -0.25, 0.375, -1, -0.875, -0.25, -0.875, 0.375, -0.875, 0.875,
    0.125, 0.25, -0.875, 1}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-1, 0.25, 0.125,
    -0.25, -0.125, 0.25, 0.125, 0.25, 0, 0.625, -0.75, 0, 0.25, 0.625, 0.625, -0.625, -1, -0.375,
    -0.75, -0.125}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-1, -0.5, 1, -0.375, -0.625,
    -0.375, 0.5, 0.5, 0.875, 0, 0.875, -0.625, -1, -0.875, -0.625, 0.75, 0.5, 0.375, -0.25, 0.375}},
    In{.shape = {5, 2}, .dtype = kF32, .values = {-0.625, -1, -0.875, -1, -0.375, -0.75, -0.375, -1,
    -1, -0.875}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.125, 1, 0.5, 0.5, 0.875, 0.75, 0,
    1, 0.375, 0.5}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3},
    .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {0.5,
    0.625, 0.875, 0.25, 0, -0.125, 0.125, 0.625, 0.125, -0.625, 0, -0.5, 0.25, 0.125, 0.125, -0.5,
    -0.625, -0.75, 0.25, 0.125, 0, 0.375, 0.5, -0.25}}, In{.shape = {5, 2, 2}, .dtype = kF32,
    .values = {-0.625, -0.25, 1, 0.25, 0.125, -0.5, 0.75, -0.375, -0.25, -0.625, 1, 0.5, 0.625, 0,
    -0.5, 0.625, 0.875, 0, -0.125, 0.625}}}, Attrs{.head_map = HeadMap::modulo}, {Expect{{3, 2, 2,
    2}, {-0.190683062, -0.0521319755, 0.233772937, 0.216957729, -0.160255574, -0.0859321926,
    -0.0922951972, 0.00891445286, 0.125, -0.625, 0, -0.5, 0.25, 0.125, 0.125, -0.5, -0.131536445,
    -0.0927462506, 0.0464705065, 0.0217908141, -0.000324859565, -0.00364187714, -0.169110474,
    -0.0761797587}}, Expect{{5, 2, 2}, {-0.0147298012, -0.151556352, 0.0765454746, -0.266897845,
    0.0584161788, -0.0449831666, 0.0639054117, -0.0558756591, -0.121496727, -0.14956565,
    -0.296146108, 0.45926869, -0.182663683, 0.128169519, 0.426754288, -0.284760982, -0.184090983,
    0.0322562473, 0.0246092268, -0.0913192171}}, Expect{{5, 2, 2}, {0.0752848359, -0.0387945677,
    0.0195922587, -0.366060605, 0.327102692, -0.120184421, 0.161612875, 0.060953363, -0.180003138,
    0.309011656, -0.11783867, -0.345388273, 0, 0, -0.406139744, 0.875831083, 0.186391693,
    0.248792387, -0.191315652, 0.306452068}}, Expect{{5, 2, 2}, {0.038550921, 0.0264433092,
    0.124541938, 0.0548144351, 0.0744557038, 0.0459271848, 0.0790728152, -0.0160989076, 0.282606921,
    0.262279102, 0.330091835, 0.177001738, 0, 0, 0.392215015, -0.874283194, -0.361301122,
    -0.26953125, -0.0312906548, 0.125203274}}, Expect{{5, 2}, {0.112797597, 0.0842416985,
    0.0610250217, -0.0261710219, 0.179886229, -0.0102969031, 0.323162908, 0.0235966936, 0.115268615,
    -0.254674226}}, Expect{{5, 2}, {-0.547024214, 0.0989753545, -0.134691451, 0.0669269039,
    0.251664766, 0.177722181, -0.319852652, -0.851039274, -0.74855149, 0.159954122}}});
  s.expect(source, {In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {-0.75, 0.375, -0.25, 0, -1,
    0.25, 0.75, 0.375, -0.625, -0.75, 0.5, -0.125, 1, -0.75, -0.125, 0.5, -0.25, 0, -0.25, 0.75,
    0.375, -0.25, 0.375, 0.75}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-0.875, -1,
    -0.625, -0.875, 0.125, -0.375, -0.5, -0.625, 0.375, 0, 0.375, -0.5, 0.625, 0.5, 0.625, 0.625,
    -0.875, 0.625, 0.5, 0.625}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0.125, -0.75, 1,
    -0.625, -0.875, 0.75, 0.375, 0.875, 0, 1, -0.75, 0.875, 0.625, 0, 0.625, -0.5, 1, -1, -0.625,
    0}}, In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-0.625, -1, 0, 0.125, 0.125, -0.75, -0.25,
    -0.625, 0.5, -0.5, -0.125, 0, -0.125, -0.625, 0.375, -0.25, -0.25, 0.875, -1, -0.125}},
    In{.shape = {5, 2, 2}, .dtype = kF32, .values = {-0.25, -0.125, -0.75, -0.625, -0.375, -0.875,
    -0.625, -0.625, 0, -0.125, -1, -0.375, -0.625, -0.625, -0.25, -0.875, -0.375, -0.375, -0.125,
    -0.625}}, In{.shape = {5, 2}, .dtype = kF32, .values = {0.5, 0.875, 0.25, 0.125, 0.5, 1, 0.875,
    0.75, 0.375, 0.875}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3},
    .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {3, 2, 2, 2}, .dtype = kF32, .values = {-0.375,
    0.125, -0.375, 0.375, 0.875, -0.625, -0.875, 0, -0.75, 0.25, -0.75, -0.25, 0, 0.125, -0.875,
    0.875, -0.625, -0.125, -0.75, -0.375, -0.875, -0.125, 0.875, 0.875}}, In{.shape = {5, 2, 2},
    .dtype = kF32, .values = {0.625, -0.75, -0.5, -0.125, -0.25, 0.375, 0.125, -0.375, -0.125, 0,
    0.75, 0.875, -0.75, -0.375, 0, -0.125, 0.375, -0.875, 0.25, 0.25}}}, Attrs{.scale = 0.25},
    {Expect{{3, 2, 2, 2}, {-0.150901367, 0.0488772835, -0.0820633895, 0.0323638582, -0.001980458,
    -0.0539412468, 0.0943830151, -0.0766716629, -0.75, 0.25, -0.75, -0.25, 0, 0.125, -0.875, 0.875,
    -0.45748371, 0.0435887104, -0.315249662, 0.0230855404, 0.11612263, 0.121759226, 0.0715854426,
    0.157136176}}, Expect{{5, 2, 2}, {-0.0320021405, -0.149092253, -0.026306398, -0.032726457,
    0.0290453599, 0.0138070987, -0.0108261934, 0.00361617127, 0.0234375, -0.00436524647,
    0.0966277652, -0.0167052923, 0.0820186137, -0.00147409865, -0.000309385477, -0.00540216813,
    -0.0649064826, 0.0999367845, 0.0497962841, 0.000128100969}}, Expect{{5, 2, 2}, {0.231289406,
    0.203929204, 0.0809107702, 0.43512851, 0.0351493705, 0.132121697, 0.0298256704, -0.141774962,
    -0.150085809, -0.105863224, -0.354515357, 0.392603414, -0.236580228, -0.101950758, 0.106757885,
    -0.0174474129, 0.0970376699, 0.0846928302, -0.469025064, 0.530401026}}, Expect{{5, 2, 2},
    {0.136784816, -0.0088779828, -0.654825056, -0.299811456, 0.00219726562, -0.0521240234,
    0.0518188477, 0.098449707, -0.0929900029, 0.0366730558, -0.37850895, -0.0376642997,
    -0.216046473, 0.0758698529, 0.414544906, -0.171337553, -0.052734375, 0.029296875, -0.495605469,
    0.324707031}}, Expect{{5, 2, 2}, {0.114370927, 0.0961265707, 0.0131061798, 0.144696673,
    0.108622223, -0.151831378, -0.0836021875, 0.158851459, 0.131505007, 0.0205158474, -0.0115048537,
    0.0420353877, 0.122715944, -0.044315682, 0.0144737311, 0.0187823636, 0.0510414617,
    -0.0435786326, 0.155863872, 0.079250672}}, Expect{{5, 2}, {-0.200648255, -0.130583417,
    0.215406499, -0.749416975, -0.170694753, 0.328364062, -0.0961574238, 0.182490742, 0.0682175988,
    0.427518717}}});
  // clang-format on
  // golden:end
}

}  // namespace

void GatedDeltaNetGrad::samples(Samples& s) {
  const auto inputs = [](int64_t slots, int64_t tokens, int64_t hk, int64_t hv, int64_t dk,
                         int64_t dv, bool per_channel, In q_start, In slot) {
    std::vector<In> all = delta_rule_inputs(slots, tokens, hk, hv, dk, dv, per_channel,
                                            std::move(q_start), std::move(slot));
    all.push_back(In{.shape = {slots, hv, dk, dv}});
    all.push_back(In{.shape = {tokens, hv, dv}});
    return all;
  };
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(inputs(4, 7, 2, 4, 5, 19, false, starts, slots), Attrs{}).length = 7;
  s.add(inputs(4, 7, 2, 4, 16, 3, false, starts, slots), Attrs{.head_map = HeadMap::modulo})
      .length = 7;
  s.add(inputs(4, 7, 1, 2, 4, 6, true, starts, slots), Attrs{.scale = 0.5}).length = 7;
  s.add(inputs(1, 0, 1, 1, 3, 2, false, ragged_ints({0, 0}), ragged_ints({0})), Attrs{});
  Sample& longer = s.add(
      inputs(2, 200, 1, 2, 32, 33, false, ragged_ints({0, 67, 200}), ragged_ints({1, 0})), Attrs{});
  longer.length = 133, longer.grad = false;
  std::vector<In> bad = inputs(2, 4, 2, 4, 3, 5, false, ragged_ints({0, 4}), ragged_ints({0}));
  bad[9] = In{.shape = {4, 4, 4}};
  s.bad(bad, Attrs{}, "sizes of d_y at axis 2");
  bad[9] = In{.shape = {4, 4, 5}}, bad[7] = ragged_ints({2});
  s.bad(bad, Attrs{}, "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
