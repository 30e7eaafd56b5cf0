#include "lamella/ops/recurrent/ragged.h"

#include "lamella/ops/control/scan.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/index/searchsorted.h"
#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

void check_ragged(TypeCx& cx, size_t first) {
  for (size_t i = first; i < first + 2; ++i) {
    cx.check(cx.in(i).is_tensor() && cx.in(i).dtype == kI32, cx.input_name(i), " is not i32; got ",
             cx.in(i));
    cx.require_rank(i, 1);
  }
  cx.require_equal(cx.shape(first)[0], cx.shape(first + 1)[0] + 1,
                   "size of q_start and sequences + 1");
}

void check_kept(TypeCx& cx, size_t i, size_t slot) {
  if (!cx.has(i)) return;
  cx.check(cx.in(i).is_tensor() && cx.in(i).dtype == kI32, "kept is not i32; got ", cx.in(i));
  cx.require_rank(i, 2);
  cx.require_equal(cx.shape(i)[0], cx.shape(slot)[0], "rows of kept and sequences");
  cx.require_at_least(cx.shape(i)[1], 1, "columns of kept");
}

void check_length(TypeCx& cx, size_t i, size_t slot) {
  if (!cx.has(i)) return;
  cx.check(cx.in(i).is_tensor() && cx.in(i).dtype == kI32, "length is not i32; got ", cx.in(i));
  cx.require_rank(i, 1);
  cx.require_equal(cx.shape(i)[0], cx.shape(slot)[0], "size of length and sequences");
}

void require_sizes(TypeCx& cx, size_t i, const Shape& sizes) {
  cx.require_float(i), cx.require_rank(i, sizes.rank());
  if (i > 0) cx.require_same_dtype(1, i);
  for (size_t d = 0; d < sizes.rank(); ++d)
    cx.require_equal(cx.shape(i).dims[d], sizes.dims[d],
                     str("sizes of ", cx.input_name(i), " at axis ", d));
}

Value sequence_of_tokens(Value q_start, Dim tokens) {
  // As many sequences end at or before the token.
  const Value ends = slice_axis(q_start, 0, 1, q_start.shape()[0]);
  return searchsorted(ends, iota_of(*q_start.graph, tokens, kI32), {.right = true});
}

namespace {

Value number(Graph& g, Dim d) { return reshape_to(g.sizes({d}), Shape{}); }

// The entry that takes the state after each token, i64[tokens]: what kept says, or the last one,
// behind the slots and an entry a sequence.
Value kept_of_tokens(Value kept, Value q_start, Dim tokens, Dim slots) {
  Graph& g = *kept.graph;
  const Dim seqs = kept.shape()[0], n = kept.shape()[1];
  const Value n_kept = number(g, n), zero = g.scalar(kI64, 0);
  const Value seq = as_dtype(sequence_of_tokens(q_start, tokens), kI64);
  const Value ends = as_dtype(gather(slice_axis(q_start, 0, 1, seqs + 1), seq), kI64);
  const Value column = iota_of(g, tokens) - ends + n_kept;
  const Value given =
      as_dtype(gather(reshape_to(kept, {seqs * n}), seq * n_kept + maximum(column, zero)), kI64);
  // What is no slot is no entry either.
  const Value entry = where(less(given, number(g, slots)), given, given + number(g, seqs + 1));
  return where(logical_and(greater_equal(column, zero), greater_equal(entry, zero)), entry,
               number(g, slots + seqs));
}

// The states that a scan carries, and which of them a token reads and writes. With `kept`, each
// sequence's state runs in an entry of its own behind the slots; behind those is one that takes
// what nobody wants.
struct Carried {
  Value states, at, kept;  // kept is absent where there is none
};
Carried carried_states(Value state, const Sequencing& s, Dim tokens) {
  Graph& g = *state.graph;
  const Value seq = sequence_of_tokens(s.q_start, tokens);
  if (s.kept.absent()) return {state, as_dtype(gather(s.slot, seq), kI64), {}};
  const Dim slots = state.shape()[0];
  Shape one = state.shape();
  one.dims[0] = 1;
  const Value nobody = full(g, one, state.dtype(), 0);
  return {concat({state, gather(state, s.slot), nobody}, {.axis = 0}),
          as_dtype(seq, kI64) + number(g, slots), kept_of_tokens(s.kept, s.q_start, tokens, slots)};
}

}  // namespace

Values ragged_scan(Value state, const Values& entries, const Values& captures,
                   const Sequencing& sequences, DType type, const TokenStep& step) {
  Graph& g = *state.graph;
  const Dim tokens = entries[0].shape()[0];
  const Carried carried = carried_states(as_dtype(state, type), sequences, tokens);
  Graph body = g.sub_graph("token");
  Values inputs{carried.states};
  const Value states = body.input("states", inputs[0].type());
  Values body_entries, body_captures;
  for (const Value& x : entries) {
    inputs.push_back(as_dtype(x, type));
    body_entries.push_back(
        body.input("entry" + std::to_string(body_entries.size()),
                   Type(type, Shape(std::vector<Dim>(x.shape().begin() + 1, x.shape().end())))));
  }
  int64_t n_scanned = static_cast<int64_t>(entries.size());
  const auto scanned_index = [&](const char* name, Value x) {
    inputs.push_back(x), ++n_scanned;
    return body.input(name, Type(kI64, {}));
  };
  const Value at = scanned_index("slot", carried.at);
  const Value kept = carried.kept.absent() ? Value{} : scanned_index("kept", carried.kept);
  for (const Value& x : captures) {
    inputs.push_back(as_dtype(x, type));
    body_captures.push_back(
        body.input("capture" + std::to_string(body_captures.size()), inputs.back().type()));
  }
  const auto [next, y] = step(gather(states, at), body_entries, body_captures);
  Shape one = next.shape();
  one.dims.insert(one.dims.begin(), 1);
  Value after = scatter_nd(states, reshape_to(at, {1, 1}), reshape_to(next, one));
  if (!kept.absent()) after = scatter_nd(after, reshape_to(kept, {1, 1}), reshape_to(next, one));
  body.output("states", after);
  body.output("y", y);
  Values results =
      scan(inputs, {std::make_shared<Graph>(std::move(body)), 1, n_scanned, sequences.reverse});
  if (!kept.absent()) results[0] = slice_axis(results[0], 0, 0, state.shape()[0]);
  return {as_dtype(results[0], state.dtype()), results[1]};
}

}  // namespace lamella
