#include "lamella/ops/attention/attention.h"

#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/softmax.h"
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
  const double window = static_cast<double>(a.window);
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

// Probabilities of the keys, 0 where a key is not seen.
Value probabilities(Value s, Value seen, Value sinks) {
  const Shape& shape = s.shape();
  const Value none = scalar_like(s, -std::numeric_limits<double>::infinity());
  seen = both(seen, logical_not(equal(s, none)));
  s = where(seen, s, scalar_like(s, lowest(s.dtype())));
  if (!sinks.absent()) {
    const Value column = reshape_to(as_dtype(sinks, s.dtype()), {1, shape[1], 1, 1});
    s = concat(s, expand_to(column, {shape[0], shape[1], shape[2], 1}), {.axis = -1});
  }
  Value p = softmax(s);
  if (!sinks.absent()) p = slice_axis(p, -1, 0, shape[3]);
  return where(seen, p, scalar_like(p, 0));
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
  const Value p = probabilities(scores_of(q, k, bias, a), seen, args[4]);
  const Value grouped = reshape_to(p, {qs[0], vs[1], floordiv(qs[1], vs[1]) * qs[2], vs[2]});
  const Value y = matmul(grouped, v, {.transpose_w = false, .compute = a.compute});
  return as_dtype(reshape_to(y, {qs[0], qs[1], qs[2], vs[3]}), args[0].dtype());
}

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
  // golden:begin
  // golden:end
  s.bad({q, In{.shape = {2, 2, 5, 5}}, v}, Attrs{}, "sizes of a query and a key");
  s.bad({q, In{.shape = {2, 3, 5, 6}}, In{.shape = {2, 3, 5, 7}}}, Attrs{}, "query heads");
  s.bad({q, k, In{.shape = {2, 2, 4, 7}}}, Attrs{}, "numbers of keys and values");
  s.bad({q, k, v, In{.shape = {3, 4}}}, Attrs{}, "do not broadcast");
  s.bad({q, k, v, In::absent(), In{.shape = {3}}}, Attrs{}, "sinks");
  s.bad({q, k, v}, Attrs{.soft_cap = -1}, "soft_cap");
}

}  // namespace lamella
