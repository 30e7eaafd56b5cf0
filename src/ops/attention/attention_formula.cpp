#include "lamella/ops/attention/attention.h"

#include <numbers>

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/ceil.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

// A condition on [queries, keys]: which keys are seen because of their positions. Absent: all.
Value seen_by_position(Graph& graph, Dim queries, Dim keys, const Attention::Attrs& a) {
  if (!a.causal && a.window == 0) return {};
  const Value first = reshape_to(graph.sizes({keys - queries}), Shape{});
  const Value p = reshape_to(iota_of(graph, queries), {queries, 1}) + first;
  const Value key = reshape_to(iota_of(graph, keys), {1, keys});
  const double window = static_cast<double>(std::min(a.window, int64_t{1} << 40));  // of i64
  const Value in_front = a.causal ? less_equal(key, p) : less(key, p + window);
  return a.window == 0 ? in_front : logical_and(in_front, greater(key, p - window));
}

Value both(Value a, Value b) { return a.absent() ? b : b.absent() ? a : logical_and(a, b); }

// Far below every score, yet safe to subtract from.
double lowest(DType type) { return type == kF64 ? -1e300 : -1e38; }

// Scores [batch, heads, queries, keys] of q with grouped heads.
Value scores_of(Value q, Value k, Value bias, const Attention::Attrs& a) {
  const Shape &qs = q.shape(), &ks = k.shape();
  const Dim heads = qs[1], queries = qs[2], group = floordiv(heads, ks[1]);
  double scale = a.scale.value_or(0);
  const Value grouped = reshape_to(q, {qs[0], ks[1], group * queries, qs[3]});
  Value s = reshape_to(matmul(grouped, k, {.compute = a.compute}), {qs[0], heads, queries, ks[2]});
  if (!a.scale && qs[3].is_const()) scale = 1 / std::sqrt(static_cast<double>(qs[3].value()));
  s = s * scale;
  if (a.soft_cap > 0) s = tanh(s / a.soft_cap) * a.soft_cap;
  return bias.absent() || bias.dtype().is_bool() ? s : s + as_dtype(bias, s.dtype());
}

// What the values are multiplied by, 0 where a key is not seen, and what the sum is divided by
// (absent: 1).
struct Weights {
  Value of_keys, total;
};

// exp(s) by powers of two too small, so that rounding does not depend on what is subtracted.
Weights rounded_weights(Value s, Value seen, Dim n_keys) {
  const Value top = max(s, {.axes = {-1}, .keep = true});
  const Value e = exp(s - ceil(top * (1 / std::numbers::ln2)) * std::numbers::ln2);
  const Value keys = cast(cast(slice_axis(e, -1, 0, n_keys), {.to = kBF16}), {.to = s.dtype()});
  const Value of_keys = where(seen, keys, scalar_like(s, 0));
  Value total = sum(of_keys, {.axes = {-1}, .keep = true});
  if (s.shape().dims.back() != n_keys) total = total + slice_axis(e, -1, n_keys, n_keys + 1);
  return {of_keys, where(equal(total, scalar_like(s, 0)), scalar_like(s, 1), total)};
}

Weights weights_of(Value s, Value seen, Value sinks, Compute compute) {
  const Shape& shape = s.shape();
  const Value none = scalar_like(s, -std::numeric_limits<double>::infinity());
  seen = both(seen, logical_not(equal(s, none)));
  s = where(seen, s, scalar_like(s, lowest(s.dtype())));
  if (!sinks.absent()) {
    const Value column = reshape_to(as_dtype(sinks, s.dtype()), {1, shape[1], 1, 1});
    s = concat(s, expand_to(column, {shape[0], shape[1], shape[2], 1}), {.axis = -1});
  }
  if (compute == Compute::bf16) return rounded_weights(s, seen, shape[3]);
  Value p = softmax(s);
  if (!sinks.absent()) p = slice_axis(p, -1, 0, shape[3]);
  return {where(seen, p, scalar_like(p, 0)), {}};
}

}  // namespace

void Attention::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0), require_real(cx, 1), require_real(cx, 2);
  for (size_t i : {0, 1, 2}) cx.require_rank(i, 4);
  const Shape &q = cx.shape(0), &k = cx.shape(1), &v = cx.shape(2);
  cx.require_equal(q[3], k[3], "sizes of a query and a key");
  cx.require_equal(q[0], k[0], "batches of q and k");
  cx.require_equal(k[0], v[0], "batches of k and v");
  cx.require_equal(k[1], v[1], "heads of k and v");
  cx.require_equal(k[2], v[2], "numbers of keys and values");
  cx.check(a.scale || q[3].is_const(), "without scale the size of a query must be known; got ",
           cx.in(0));
  check_attention(cx, a, q[1], k[1]);
  if (cx.has(3)) {
    cx.check(cx.in(3).is_tensor() && (cx.in(3).dtype.is_float() || cx.in(3).dtype.is_bool()),
             "bias is neither of floats nor of bool; got ", cx.in(3));
    const Shape all{q[0], q[1], q[2], k[2]}, &bias = cx.shape(3);
    cx.check(bias.rank() <= 4, "bias has too many axes; got ", cx.in(3));
    const Shape together = cx.broadcast(all, bias);
    for (size_t i = 0; i < 4; ++i)
      cx.require_equal(together.dims[i], all.dims[i], "sizes of bias and scores");
  }
  if (cx.has(4)) {
    cx.require_float(4), cx.require_rank(4, 1);
    cx.require_equal(cx.shape(4)[0], q[1], "sinks and query heads");
  }
  cx.out(cx.in(0).dtype, {q[0], q[1], q[2], v[3]});
}

Value Attention::expand(const Args& args, const Attrs& a) {
  const Value q = wide(args[0]), k = args[1], v = args[2], bias = args[3];
  const Shape &qs = q.shape(), &vs = v.shape();
  Value seen = seen_by_position(*q.graph, qs[2], vs[2], a);
  if (!bias.absent() && bias.dtype().is_bool()) seen = both(seen, bias);
  const Weights w = weights_of(scores_of(q, k, bias, a), seen, args[4], a.compute);
  const Value grouped =
      reshape_to(w.of_keys, {qs[0], vs[1], floordiv(qs[1], vs[1]) * qs[2], vs[2]});
  const Value sums = reshape_to(matmul(grouped, v, {.transpose_w = false, .compute = a.compute}),
                                {qs[0], qs[1], qs[2], vs[3]});
  return as_dtype(w.total.absent() ? sums : sums / w.total, args[0].dtype());
}

namespace {

using Attrs = Attention::Attrs;

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
  s.expect(numpy, {In{.shape = {2, 2, 3, 4}, .dtype = kF32, .values = {-1, -1.25, -0.75, 1.5,
    -0.125, 0.375, -1.75, -0.625, 1, 1.125, 0.375, 1.5, -0.875, -1.375, -1.75, -1.25, 1.125, 1.625,
    -1.5, 0, -1.5, 1.375, -1.5, 0.625, -1.75, 1, 1.625, 1, -1, 1.375, -0.75, 1, 1.375, 0, 0.5, 1.5,
    -1.25, -2, -0.25, -1.375, 1.625, 1.5, -0.5, -0.75, 0.875, -0.25, -1.625, 0.625}}, In{.shape =
    {2, 1, 4, 4}, .dtype = kF32, .values = {1, -1.75, 1.125, 0.125, 1.375, 1.5, 0.75, -0.625, -0.5,
    0.875, -1.75, -1.125, 0.125, 1.875, 1, 1.25, -1.25, -0.875, -1, 1, 0.125, -1.25, 1, 0.625,
    1.625, 0.25, -1.5, 1.625, -1.25, -1.875, 1.25, -0.25}}, In{.shape = {2, 1, 4, 3}, .dtype = kF32,
    .values = {0.625, -1.5, 0.875, -0.375, 2, 0.5, 1.75, 1.25, 1.375, -1.75, 1.125, 0.375, -0.375,
    -0.75, 0.625, -1.25, -1.25, 1.5, 1.125, 0.375, 1.125, -0.75, 0.875, -1.25}}}, Attrs{},
    {Expect{{2, 2, 3, 3}, {0.382158901, -0.168632249, 0.882046342, 1.39935608, 1.23474548,
    1.24834054, -1.18145456, 1.1801185, 0.462927712, 1.56830896, 0.985042685, 1.29945355,
    0.360696173, 1.43892402, 0.885153991, 0.815306719, 1.23862145, 1.09395067, -0.727809426,
    -0.0581374223, -0.0435536857, 0.143037458, -0.245985435, 0.785841635, 0.435136297,
    -0.0222442363, 1.06320336, -0.729326861, 0.419425331, -0.685572191, 0.875645878, 0.231560875,
    1.08768588, 0.765894533, 0.146495818, 1.0301914}}});
  s.expect(numpy, {In{.shape = {2, 2, 3, 4}, .dtype = kF32, .values = {-1, -1.25, -0.75, 1.5,
    -0.125, 0.375, -1.75, -0.625, 1, 1.125, 0.375, 1.5, -0.875, -1.375, -1.75, -1.25, 1.125, 1.625,
    -1.5, 0, -1.5, 1.375, -1.5, 0.625, -1.75, 1, 1.625, 1, -1, 1.375, -0.75, 1, 1.375, 0, 0.5, 1.5,
    -1.25, -2, -0.25, -1.375, 1.625, 1.5, -0.5, -0.75, 0.875, -0.25, -1.625, 0.625}}, In{.shape =
    {2, 1, 4, 4}, .dtype = kF32, .values = {1, -1.75, 1.125, 0.125, 1.375, 1.5, 0.75, -0.625, -0.5,
    0.875, -1.75, -1.125, 0.125, 1.875, 1, 1.25, -1.25, -0.875, -1, 1, 0.125, -1.25, 1, 0.625,
    1.625, 0.25, -1.5, 1.625, -1.25, -1.875, 1.25, -0.25}}, In{.shape = {2, 1, 4, 3}, .dtype = kF32,
    .values = {0.625, -1.5, 0.875, -0.375, 2, 0.5, 1.75, 1.25, 1.375, -1.75, 1.125, 0.375, -0.375,
    -0.75, 0.625, -1.25, -1.25, 1.5, 1.125, 0.375, 1.125, -0.75, 0.875, -1.25}}}, Attrs{.causal =
    true, .window = 2}, {Expect{{2, 2, 3, 3}, {0.558430811, -1.26700784, 0.850036554, 1.56392684,
    1.31567288, 1.29838164, -1.6091672, 1.13002974, 0.415237943, 0.457236653, -0.912828285,
    0.812088745, 0.852177651, 1.56687848, 1.00530844, 0.876934648, 1.21881909, 1.12555276,
    -0.822752029, -1.0058583, 1.07275203, 0.763923426, 0.127947607, 1.18201209, 1.00640527,
    0.406625261, 0.97478001, -0.710181148, -0.941532084, 0.960181148, 0.959838357, 0.261994665,
    1.15107815, 1.08447125, 0.385807666, 1.07366358}}});
  s.expect(numpy, {In{.shape = {2, 2, 3, 4}, .dtype = kF32, .values = {-1, -1.25, -0.75, 1.5,
    -0.125, 0.375, -1.75, -0.625, 1, 1.125, 0.375, 1.5, -0.875, -1.375, -1.75, -1.25, 1.125, 1.625,
    -1.5, 0, -1.5, 1.375, -1.5, 0.625, -1.75, 1, 1.625, 1, -1, 1.375, -0.75, 1, 1.375, 0, 0.5, 1.5,
    -1.25, -2, -0.25, -1.375, 1.625, 1.5, -0.5, -0.75, 0.875, -0.25, -1.625, 0.625}}, In{.shape =
    {2, 1, 4, 4}, .dtype = kF32, .values = {1, -1.75, 1.125, 0.125, 1.375, 1.5, 0.75, -0.625, -0.5,
    0.875, -1.75, -1.125, 0.125, 1.875, 1, 1.25, -1.25, -0.875, -1, 1, 0.125, -1.25, 1, 0.625,
    1.625, 0.25, -1.5, 1.625, -1.25, -1.875, 1.25, -0.25}}, In{.shape = {2, 1, 4, 3}, .dtype = kF32,
    .values = {0.625, -1.5, 0.875, -0.375, 2, 0.5, 1.75, 1.25, 1.375, -1.75, 1.125, 0.375, -0.375,
    -0.75, 0.625, -1.25, -1.25, 1.5, 1.125, 0.375, 1.125, -0.75, 0.875, -1.25}}, In{.shape = {2, 1,
    3, 4}, .dtype = kF32, .values = {-0.25, -1.5, -0.5, -0.625, -INFINITY, -INFINITY, -INFINITY,
    -INFINITY, 1.375, -0.25, 0.125, -1.625, -0.5, 2, 0.25, -2, 0.875, 1.125, -0.5, -1.875, 1.375,
    -1, 1.75, -INFINITY}}, In{.shape = {2}, .dtype = kF32, .values = {-0.5, 1.25}}}, Attrs{.scale =
    0.75, .causal = false, .soft_cap = 1.5}, {Expect{{2, 2, 3, 3}, {0.364006225, -0.421671597,
    0.658388219, 0, 0, 0, 0.00545770994, 0.307795296, 0.63930136, 0.673485609, 0.394903052,
    0.595872998, 0, 0, 0, 0.783994353, 0.584178988, 0.769943101, -1.0798251, -1.07333769,
    1.29689028, -0.211552921, -0.57637919, 0.741013956, 0.891927342, 0.215765247, 1.07246267,
    -0.94332682, -0.943517665, 1.12345004, 0.163627492, -0.0888954411, 0.566198191, 0.633909199,
    0.0499639742, 0.899637599}}}).grad = false;
  s.expect(numpy, {In{.shape = {2, 2, 3, 4}, .dtype = kF32, .values = {-1, -1.25, -0.75, 1.5,
    -0.125, 0.375, -1.75, -0.625, 1, 1.125, 0.375, 1.5, -0.875, -1.375, -1.75, -1.25, 1.125, 1.625,
    -1.5, 0, -1.5, 1.375, -1.5, 0.625, -1.75, 1, 1.625, 1, -1, 1.375, -0.75, 1, 1.375, 0, 0.5, 1.5,
    -1.25, -2, -0.25, -1.375, 1.625, 1.5, -0.5, -0.75, 0.875, -0.25, -1.625, 0.625}}, In{.shape =
    {2, 1, 4, 4}, .dtype = kF32, .values = {1, -1.75, 1.125, 0.125, 1.375, 1.5, 0.75, -0.625, -0.5,
    0.875, -1.75, -1.125, 0.125, 1.875, 1, 1.25, -1.25, -0.875, -1, 1, 0.125, -1.25, 1, 0.625,
    1.625, 0.25, -1.5, 1.625, -1.25, -1.875, 1.25, -0.25}}, In{.shape = {2, 1, 4, 3}, .dtype = kF32,
    .values = {0.625, -1.5, 0.875, -0.375, 2, 0.5, 1.75, 1.25, 1.375, -1.75, 1.125, 0.375, -0.375,
    -0.75, 0.625, -1.25, -1.25, 1.5, 1.125, 0.375, 1.125, -0.75, 0.875, -1.25}}, In{.shape = {3, 4},
    .dtype = kBool, .values = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0}}}, Attrs{}, {Expect{{2, 2, 3, 3},
    {0.41112825, -0.251605407, 0.896663662, 0, 0, 0, -0.14985989, 1.92053878, 0.592704751,
    1.60895188, 0.963815579, 1.31617355, 0, 0, 0, 1.61559264, 1.29743789, 1.31965579, -0.554034443,
    0.338491528, -0.557218676, 0, 0, 0, 0.5565453, -0.0139426894, 1.21475601, -0.674374446,
    0.595618313, -0.91623988, 0, 0, 0, 0.99045049, 0.282939809, 1.14624466}}});
  s.expect(numpy, {In{.shape = {2, 2, 3, 4}, .dtype = kF32, .values = {-1, -1.25, -0.75, 1.5,
    -0.125, 0.375, -1.75, -0.625, 1, 1.125, 0.375, 1.5, -0.875, -1.375, -1.75, -1.25, 1.125, 1.625,
    -1.5, 0, -1.5, 1.375, -1.5, 0.625, -1.75, 1, 1.625, 1, -1, 1.375, -0.75, 1, 1.375, 0, 0.5, 1.5,
    -1.25, -2, -0.25, -1.375, 1.625, 1.5, -0.5, -0.75, 0.875, -0.25, -1.625, 0.625}}, In{.shape =
    {2, 1, 2, 4}, .dtype = kF32, .values = {1, -1.75, 1.125, 0.125, 1.375, 1.5, 0.75, -0.625, -1.25,
    -0.875, -1, 1, 0.125, -1.25, 1, 0.625}}, In{.shape = {2, 1, 2, 3}, .dtype = kF32, .values =
    {0.625, -1.5, 0.875, -0.375, 2, 0.5, -0.375, -0.75, 0.625, -1.25, -1.25, 1.5}}}, Attrs{.causal =
    true}, {Expect{{2, 2, 3, 3}, {0, 0, 0, 0.625, -1.5, 0.875, -0.17444232, 1.29804812, 0.57520913,
    0, 0, 0, 0.625, -1.5, 0.875, -0.255797078, 1.58278977, 0.544701096, 0, 0, 0, -0.375, -0.75,
    0.625, -1.04181134, -1.13103505, 1.29181134, 0, 0, 0, -0.375, -0.75, 0.625, -0.594548689,
    -0.875456393, 0.844548689}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Attention::samples(Samples& s) {
  const In q{.shape = {2, 4, 3, 6}}, k{.shape = {2, 2, 5, 6}}, v{.shape = {2, 2, 5, 7}};
  const auto add = [&](std::vector<In> inputs, Attrs a) { s.add(std::move(inputs), a).length = 6; };
  add({q, k, v}, {});
  add({q, k, v}, {.causal = true});
  add({q, k, v, In{.shape = {3, 5}}}, {.scale = 0.25, .causal = true, .window = 2});
  add({q, k, v, In{.shape = {2, 1, 1, 5}}, In{.shape = {4}}}, {.window = 2, .soft_cap = 1.5});
  add({q, k, v, In{.shape = {2, 1, 3, 5}, .dtype = kBool, .domain = {0, 1}}}, {});
  add({q, k, v, In{.shape = {4, 3, 5}}}, {.soft_cap = 0.5});
  add({q, In{.shape = {2, 2, 2, 6}}, In{.shape = {2, 2, 2, 7}}}, {.causal = true});
  add({In{.shape = {1, 2, 65, 8}}, In{.shape = {1, 1, 65, 8}}, In{.shape = {1, 1, 65, 8}}},
      {.causal = true, .window = 9});
  add({In{.shape = {0, 2, 3, 4}}, In{.shape = {0, 1, 3, 4}}, In{.shape = {0, 1, 3, 4}}}, {});
  add({In{.shape = {2, 2, 3, 4}}, In{.shape = {2, 1, 0, 4}}, In{.shape = {2, 1, 0, 4}}}, {});
  // Gradients of narrow keys and values are rounded to their types: differences do not see that.
  s.add({q, In{.shape = {2, 2, 5, 6}, .dtype = kF16}, In{.shape = {2, 2, 5, 7}, .dtype = kBF16}},
        Attrs{})
      .grad = false;
  s.add({q, k, v}, Attrs{.compute = Compute::bf16}).grad = false;
  add_literal_samples(s);
  s.bad({q, In{.shape = {2, 2, 5, 5}}, v}, Attrs{}, "sizes of a query and a key");
  s.bad({q, In{.shape = {2, 3, 5, 6}}, In{.shape = {2, 3, 5, 7}}}, Attrs{}, "query heads");
  s.bad({q, k, In{.shape = {2, 2, 4, 7}}}, Attrs{}, "numbers of keys and values");
  s.bad({q, k, v, In{.shape = {3, 4}}}, Attrs{}, "do not broadcast");
  s.bad({q, k, v, In::absent(), In{.shape = {3}}}, Attrs{}, "sinks");
  s.bad({q, k, v}, Attrs{.soft_cap = -1}, "soft_cap");
}

}  // namespace lamella
