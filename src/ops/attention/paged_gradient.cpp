// Gradients of the ops over paged caches: the same written with ops that have gradients, token by
// token with all the keys that its sequence has room for. For training; nothing runs this forward.
#include "lamella/ir/rewrite.h"
#include "lamella/ops/attention/attention.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/index/searchsorted.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

Value number(Graph& graph, Dim d) { return reshape_to(graph.sizes({d}), Shape{}); }

// Of each token: its sequence, its position in it and the number of its keys, i64[tokens].
struct Tokens {
  Value seq, position, n_keys;

  Tokens(Value q_start, Value kv_len, Dim n) {
    Graph& g = *q_start.graph;
    const Value ends = cast(slice_axis(q_start, 0, 1, q_start.shape()[0]), {.to = kI64});
    const Value token = iota_of(g, n);
    seq = searchsorted(ends, token, {.right = true});
    n_keys = gather(cast(kv_len, {.to = kI64}), seq);
    position = n_keys - gather(ends, seq) + token;
  }
};

// [tokens, kv_heads, keys, d]: the rows of each token's sequence; 0 where `seen` [tokens, keys]
// does not hold.
Value rows_of(Value pages, Value table, const Tokens& tokens, Value seen) {
  const Shape p = pages.shape(), s = seen.shape();
  const Value known = minimum(maximum(table, scalar_like(table, 0)),
                              cast(number(*pages.graph, p[0] - 1), {.to = table.dtype()}));
  const Value sequences = reshape_to(gather(pages, known), {table.shape()[0], s[1], p[2], p[3]});
  const Value rows = gather(sequences, tokens.seq);
  const Value kept = where(reshape_to(seen, {s[0], s[1], 1, 1}), rows, scalar_like(rows, 0));
  return transpose(kept, {.perm = {0, 2, 1, 3}});
}

Value dense_form(const Values& x, const PagedAttention::Attrs& a) {
  const Value q = x[0], table = x[4];
  const Shape qs = q.shape(), ks = x[1].shape();
  const Dim n_keys = table.shape()[1] * ks[1];
  Graph& g = *q.graph;
  const Tokens tokens(x[3], x[5], qs[0]);
  const auto column = [&](Value v) { return reshape_to(v, {qs[0], 1}); };
  const Value key = reshape_to(iota_of(g, n_keys), {1, n_keys}), p = column(tokens.position);
  Value seen = less(key, column(tokens.n_keys));
  if (a.causal) seen = logical_and(seen, less_equal(key, p));
  if (a.window > 0) {
    const double window = static_cast<double>(std::min(a.window, int64_t{1} << 40));  // of i64
    seen = logical_and(seen, logical_and(greater(key, p - window), less(key, p + window)));
  }
  const Value k = rows_of(x[1], table, tokens, seen), v = rows_of(x[2], table, tokens, seen);
  Values inputs{reshape_to(q, {qs[0], qs[1], 1, qs[2]}), k, v,
                reshape_to(seen, {qs[0], 1, 1, n_keys})};
  if (!x[6].absent()) inputs.push_back(x[6]);
  const Value y =
      attention(inputs, {.scale = a.scale, .soft_cap = a.soft_cap, .compute = a.compute});
  return reshape_to(y, {qs[0], qs[1], x[2].shape()[3]});
}

}  // namespace

void PagedAttention::vjp(VjpCx& cx, const Attrs& a) {
  Graph body = cx.graph().sub_graph("paged_attention");
  Values inner(7), args;
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    if (!cx.has(i)) continue;
    inner[i] = body.input("x" + std::to_string(i), cx.in(i).type());
    args.push_back(cx.in(i));
  }
  body.output("y", dense_form(inner, a));
  args.push_back(cx.grad());
  const Values grads = append_graph(cx.graph(), cx.gradient_of(body), args);
  size_t next = 0;
  for (size_t i = 0; i < cx.n_inputs(); ++i)
    if (cx.has(i) && cx.in(i).dtype().is_float()) cx.set(i, grads[next++]);
}

void KvAppend::vjp(VjpCx& cx, const NoAttrs&) {
  const Value g = cx.grad(), table = cx.in(3);
  const Shape added = cx.in(1).shape();
  const Tokens tokens(cx.in(2), cx.in(4), added[0]);
  const Value page = number(cx.graph(), cx.in(0).shape()[1]);
  const auto column = [&](Value v) { return reshape_to(v, {added[0], 1}); };
  const Value slot = concat(column(tokens.seq), column(tokens.position / page), {.axis = 1});
  const Value id = cast(gather_nd(table, slot), {.to = kI64});
  const Value place = concat(column(id), column(mod(tokens.position, page)), {.axis = 1});
  cx.set(1, as_dtype(gather_nd(g, place), cx.in(1).dtype()));
  cx.set(0, scatter_nd(g, place, full(cx.graph(), added, g.dtype(), 0)));
}

}  // namespace lamella
