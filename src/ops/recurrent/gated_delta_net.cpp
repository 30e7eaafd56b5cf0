#include "lamella/ops/recurrent/gated_delta_net.h"

#include <cmath>

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/delta_heads.h"
#include "lamella/ops/recurrent/gated_delta_net_grad.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

enum : size_t { kState, kQ, kK, kV, kG, kBeta, kStart, kSlot, kKept, kLength };

}  // namespace

void check_delta_inputs(TypeCx& cx, const GatedDeltaNet::Attrs& a) {
  for (size_t i : {kQ, kK, kV}) cx.require_rank(i, 3), cx.require_float(i);
  const Dim tokens = cx.shape(kQ)[0], hk = cx.shape(kQ)[1], dk = cx.shape(kQ)[2],
            hv = cx.shape(kV)[1], dv = cx.shape(kV)[2];
  require_sizes(cx, kK, {tokens, hk, dk});
  require_sizes(cx, kV, {tokens, hv, dv});
  require_sizes(cx, kG, cx.in(kG).rank() == 3 ? Shape{tokens, hv, dk} : Shape{tokens, hv});
  require_sizes(cx, kBeta, {tokens, hv});
  cx.require_rank(kState, 4);
  require_sizes(cx, kState, {cx.shape(kState)[0], hv, dk, dv});
  cx.require_at_least(hk, 1, "key heads");
  cx.require_equal(dim_mod(hv, hk), 0, "value heads modulo key heads, and zero");
  check_ragged(cx, kStart);
  CHECK_USER(a.scale || dk.is_const(), "gated_delta_net: no scale; got q of ", cx.in(kQ),
             "; want the attribute scale, or a known last size of q to make it of");
}

void GatedDeltaNet::type(TypeCx& cx, const Attrs& a) {
  check_delta_inputs(cx, a);
  check_kept(cx, kKept, kSlot), check_length(cx, kLength, kSlot);
  cx.out(cx.in(kState).dtype, cx.shape(kState));
  cx.out(cx.in(kV).dtype, cx.shape(kV));
}

Values GatedDeltaNet::expand(const Args& args, const Attrs& a) {
  const Dim hv = args[kV].shape()[1], dv = args[kV].shape()[2], dk = args[kQ].shape()[2];
  const bool per_channel = args[kG].shape().rank() == 3;
  const double scale = delta_scale(a, dk);
  const auto step = [&](Value state, const Values& x, const Values&) {
    const Value q = for_value_heads(x[0], hv, a.head_map),
                k = for_value_heads(x[1], hv, a.head_map);
    const Value decayed =
        state * exp(reshape_to(x[3], per_channel ? Shape{hv, dk, 1} : Shape{hv, 1, 1}));
    const Value seen = sum(decayed * k, {.axes = {1}});
    const Value d = (x[2] - seen) * reshape_to(x[4], {hv, 1});
    const Value next = decayed + k * reshape_to(d, {hv, 1, dv});
    return std::pair(next, sum(next * q, {.axes = {1}}) * scale);
  };
  Values out =
      ragged_scan(args[kState], {args[kQ], args[kK], args[kV], args[kG], args[kBeta]}, {},
                  {args[kStart], args[kSlot], args[kKept]}, wide_dtype(args[kV].dtype()), step);
  out[1] = as_dtype(out[1], args[kV].dtype());
  return out;
}

void GatedDeltaNet::vjp(VjpCx& cx, const Attrs& a) {
  CHECK_USER(!cx.has(kKept), "gated_delta_net: no gradient with kept; want it without");
  const auto gradient = [&](size_t output, size_t like) {
    const Type& type = cx.in(like).type();
    return cx.has_grad(output) ? cx.grad(output) : full(cx.graph(), type.shape, type.dtype, 0);
  };
  const Values d =
      gated_delta_net_grad({cx.in(kState), cx.in(kQ), cx.in(kK), cx.in(kV), cx.in(kG), cx.in(kBeta),
                            cx.in(kStart), cx.in(kSlot), gradient(0, kState), gradient(1, kV)},
                           a);
  const Dim hk = cx.in(kQ).shape()[1];
  for (size_t i = 0; i < d.size(); ++i)
    cx.set(i, i == kQ || i == kK ? sum_for_key_heads(d[i], hk, a.head_map) : d[i]);
}

namespace {

void add_literal_samples(Samples& s) {
  using Attrs = GatedDeltaNet::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 4, 2, 2}, .dtype = kF32, .values = {-0.125, 0.5, -1, 0.75,
    0.125, 0.875, -1, 0.25, -0.875, 0.75, 0.75, 0, -0.75, -0.625, 0.125, -0.75, 0.125, 0, 0.625,
    0.5, 1, -0.125, -0.25, 0.375, -0.5, -0.75, -0.375, 1, 1, 0, 0.625, 0.75, -1, 0.5, -1, 0.625,
    -0.875, -0.25, 1, -0.875, -0.875, -0.125, 0.25, -0.375, -0.25, -0.25, -0.625, 1}}, In{.shape =
    {5, 2, 2}, .dtype = kF32, .values = {-0.5, -0.375, -0.5, 0.625, 0.5, -0.75, 0.75, 0.25, 0.125,
    -0.375, -0.875, -0.5, -1, -0.25, -0.25, 0.875, -0.75, 0.125, 0.25, 0}}, In{.shape = {5, 2, 2},
    .dtype = kF32, .values = {0, 0.625, 0.875, 0, -0.25, -0.875, -0.25, -0.75, -0.125, 0.5, 0.75,
    -0.125, 0.625, -0.625, 0, 1, -0.25, -0.5, -1, 0.625}}, In{.shape = {5, 4, 2}, .dtype = kF32,
    .values = {-0.5, -0.375, 0.125, 0.5, -0.125, 0, 0.875, -1, -0.875, 0.5, 0.5, -0.5, 0.75, -0.125,
    1, 0.5, 0.875, 1, 0.875, -0.125, -1, 0.375, -0.75, 0, 0.625, 0.375, 0.625, -0.75, -1, 1, 0.125,
    -0.75, -0.875, 0.375, 0.25, -0.875, 0.5, -0.875, -0.75, 0.75}}, In{.shape = {5, 4}, .dtype =
    kF32, .values = {-0.5, -0.25, -1, -1, -1, -0.75, -0.625, -1, -0.875, 0, -0.625, -0.125, -0.75,
    -0.25, 0, -0.25, -1, -0.25, 0, -1}}, In{.shape = {5, 4}, .dtype = kF32, .values = {0.875, 0,
    0.875, 0.25, 0.375, 0.625, 0.375, 0.875, 1, 0.375, 0.75, 0.25, 0.75, 0.625, 1, 1, 0.75, 0.5,
    0.25, 0.625}}, In{.shape = {4}, .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype
    = kI32, .values = {2, 1, 0}}}, Attrs{.head_map = HeadMap::modulo}, {Expect{{3, 4, 2, 2},
    {0.260416659, 0.0362481556, 0.236437216, -0.125198871, -0.00931388944, 0.545073269, 0.192946946,
    -0.389141241, -0.897734945, 0.960210412, 0.381785347, -0.281421294, 0.410770857, -0.629119791,
    -0.337316866, 0.0296359366, 0.125, 0, 0.625, 0.5, 1, -0.125, -0.25, 0.375, -0.5, -0.75, -0.375,
    1, 1, 0, 0.625, 0.75, -0.11557009, 0.0607343432, 0.129003243, -0.161561, -0.430556379,
    0.0274697254, 0.0418938381, 0.036424246, -0.238228428, -0.00833135858, -0.234945658,
    0.0083861479, -0.164170897, -0.233512857, -0.706267068, -0.241708955}}, Expect{{5, 4, 2},
    {0.392806326, -0.119002991, 0.585113772, -0.232324586, 0.115881686, 0.0403357169, -0.142993187,
    0.266213525, -0.109274498, 0.107153492, -0.220931147, 0.0210069797, 0.0403722826,
    -0.00739300661, -0.211916324, -0.166567404, -0.048747296, -0.189400389, 0.172892442,
    -0.511685669, -0.0121940562, -0.010318719, 0.395681971, 0.540532554, -0.125784107, -0.236490829,
    0.0128117105, -0.329921442, 0.533761043, -0.573445646, 0.174652677, -0.396646109, -0.117208494,
    -0.0302896088, -0.0016464786, 0.0963562513, 0.509841227, -0.534102833, 0.0726147146,
    -0.111213718}}});
  s.expect(source, {In{.shape = {3, 4, 2, 2}, .dtype = kF32, .values = {-0.875, -0.5, -0.125, 0.5,
    0.75, -0.75, -1, 0.375, 0.625, -0.625, 0.25, 0.375, 0.625, 0, -0.5, 0.75, -0.375, 0.125, -1,
    0.875, 1, -0.125, -0.75, -1, 0.625, 1, -0.5, 0.625, -0.125, 0.625, -0.625, 0.75, 0.375, -0.75,
    0.875, 0.75, 0.875, -0.875, -0.25, -0.375, 0.75, -0.75, 0.25, 0, -0.375, -0.625, 1, -0.625}},
    In{.shape = {5, 2, 2}, .dtype = kF32, .values = {0, 0.125, 0, -0.75, 0.75, 0, 1, 0.375, 0.875,
    -1, -0.25, 0.875, 0.25, 0.5, -0.5, 0.5, -1, 0.5, -0.375, 1}}, In{.shape = {5, 2, 2}, .dtype =
    kF32, .values = {-0.25, -0.75, -0.875, -0.875, -0.625, 0.5, -0.875, -1, 0.875, 0.25, -0.5, 0.25,
    -0.75, 0.875, 0.125, -0.875, 0.875, -0.375, 0.5, 0.5}}, In{.shape = {5, 4, 2}, .dtype = kF32,
    .values = {-0.875, -0.375, 0.25, -0.5, 1, -0.625, 0.375, -1, -0.875, 0, 0.125, -0.875, -0.75,
    -0.125, -0.125, 0.5, 0.5, -0.125, -1, 0.25, 0.625, 1, 0.5, -0.625, -0.625, 0.25, -0.25, 0.375,
    -0.5, 0, -1, -0.375, 0.875, -0.75, -0.125, -0.25, -1, 0.125, -1, 1}}, In{.shape = {5, 4, 2},
    .dtype = kF32, .values = {-0.625, -0.75, -0.375, -0.125, -0.125, -0.125, -0.25, -0.625, 0,
    -0.375, -0.125, -1, -0.75, 0, 0, -0.5, -0.875, -0.875, 0, -0.125, -1, -0.125, -0.375, -0.25,
    -0.25, 0, -1, -0.75, -0.5, -0.5, 0, -0.625, -0.875, -0.375, -0.25, -0.75, -0.5, -0.25, -1,
    -0.5}}, In{.shape = {5, 4}, .dtype = kF32, .values = {0.375, 0.375, 0.125, 0.75, 0.25, 0.25,
    0.5, 0.25, 0.875, 1, 0.375, 0.375, 0, 0.375, 0, 1, 0, 1, 0.75, 1}}, In{.shape = {4}, .dtype =
    kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1, 0}}},
    Attrs{.scale = 0.25}, {Expect{{3, 4, 2, 2}, {0.0884317106, -0.0663578735, 0.0893016518,
    0.144044621, -0.23431224, -0.181492548, -0.231181907, 0.202812335, -0.369880997, -0.102786751,
    -0.272687681, 0.228991375, -0.59555766, 0.472710128, -0.117965672, 0.674131777, -0.375, 0.125,
    -1, 0.875, 1, -0.125, -0.75, -1, 0.625, 1, -0.5, 0.625, -0.125, 0.625, -0.625, 0.75,
    0.391359481, -0.322317888, 0.269690347, 0.236437352, 0.433581467, -0.27733546, -0.0433043928,
    -0.172006288, 0.45285549, -0.157497508, 0.291670446, 0.23791646, -0.540558393, 0.303758244,
    0.247531229, 0.0956352175}}, Expect{{5, 4, 2}, {0.0174411345, 0.0129137649, -0.00895885006,
    -0.00244437674, -0.00502340892, -0.0246942485, -0.0280333659, -0.148745828, 0.0733799027,
    -0.0604346039, 0.0812965251, -0.0520003987, 0.140557977, -0.0170697089, -0.111933545,
    0.0849053626, 0.0271017756, -0.0971076867, 0.199625591, -0.140640236, 0.0559602107, 0.112618101,
    -0.0858564794, 0.102924513, 0.0295001824, 0.0162489444, -0.0820447098, 0.0344187309,
    0.0138972352, 0.0596302183, 0.0920523374, 0.0353435216, -0.0109452212, 0.034595046,
    0.0296803215, 0.0707246788, -0.0334955768, 0.0668841016, 0.0263421125, 0.12421637}}});
  // clang-format on
  // golden:end
}

}  // namespace

void GatedDeltaNet::samples(Samples& s) {
  const In starts = ragged_ints({0, 2, 2, 7}), slots = ragged_ints({3, 0, 1});
  s.add(delta_rule_inputs(4, 7, 2, 4, 5, 19, false, starts, slots), Attrs{}).length = 7;
  s.add(delta_rule_inputs(4, 7, 2, 4, 16, 3, false, starts, slots),
        Attrs{.head_map = HeadMap::modulo})
      .length = 7;
  s.add(delta_rule_inputs(4, 7, 1, 2, 4, 6, true, starts, slots), Attrs{.scale = 0.5}).length = 7;
  const auto add_kept = [&](const std::vector<In>& in) {
    Sample& sample = s.add(in, Attrs{});
    sample.length = 8, sample.grad = false;
  };
  for (const bool per_channel : {false, true}) {
    std::vector<In> in =
        delta_rule_inputs(6, 8, 1, 2, 4, 6, per_channel, ragged_ints({0, 3, 3, 8}), slots);
    in.push_back(ragged_table(4, {-1, 1, -1, 2, -1, -1, -1, -1, 4, -1, 5, 3}));
    in[7] = ragged_ints({2, 0, 3});
    add_kept(in);
    in[6] = ragged_ints({0, 0, 0, 8});
    in.push_back(ragged_ints({5, 5, 66}));
    add_kept(in);
  }
  s.add(delta_rule_inputs(1, 0, 1, 1, 3, 2, false, ragged_ints({0, 0}), ragged_ints({0})), Attrs{});
  Sample& longer = s.add(delta_rule_inputs(2, 200, 1, 2, 32, 33, false, ragged_ints({0, 67, 200}),
                                           ragged_ints({1, 0})),
                         Attrs{});
  longer.length = 133, longer.grad = false;
  const In one = ragged_ints({0});
  auto bad = [&](size_t i, In with, const char* message) {
    std::vector<In> in = delta_rule_inputs(2, 4, 2, 4, 3, 5, false, ragged_ints({0, 4}), one);
    in[i] = std::move(with);
    s.bad(std::move(in), Attrs{}, message);
  };
  bad(2, In{.shape = {4, 2, 4}}, "sizes of k at axis 2");
  bad(3, In{.shape = {4, 3, 5}}, "sizes of");
  bad(4, In{.shape = {4, 2}}, "sizes of g at axis 1");
  bad(0, In{.shape = {2, 4, 5, 3}}, "sizes of state at axis 2");
  bad(6, ragged_ints({0, 1, 4}), "sequences + 1");
  bad(7, ragged_ints({2}), "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
