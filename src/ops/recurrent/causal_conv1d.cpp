#include "lamella/ops/recurrent/causal_conv1d.h"

#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

Value i64_of(Value x) { return as_dtype(x, kI64); }
Value number(Graph& g, Dim d) { return reshape_to(g.sizes({d}), Shape{}); }

}  // namespace

void CausalConv1d::type(TypeCx& cx, const NoAttrs&) {
  cx.require_rank(1, 2), cx.require_rank(2, 2), cx.require_rank(0, 3), cx.require_float(1);
  const Dim channels = cx.shape(1)[1], taps = cx.shape(2)[1];
  cx.require_at_least(taps, 1, "taps");
  require_sizes(cx, 2, {channels, taps});
  require_sizes(cx, 0, {cx.shape(0)[0], channels, taps - 1});
  check_ragged(cx, 3);
  check_kept(cx, 6, 4);
  if (cx.has(5)) require_sizes(cx, 5, {channels});
  cx.out(cx.in(0).dtype, cx.shape(0));
  cx.out(cx.in(1).dtype, cx.shape(1));
}

// All rows, those of the states first, in one matrix; every tap is a gather of its rows.
Values CausalConv1d::expand(const Args& args, const NoAttrs&) {
  Graph& g = args.graph();
  const Value x = wide(args[1]), w = wide(args[2]), q_start = args[3], slot = i64_of(args[4]);
  const Value state = as_dtype(args[0], x.dtype());
  const Dim tokens = x.shape()[0], channels = x.shape()[1], taps = w.shape()[1], kept = taps - 1,
            slots = state.shape()[0], seqs = slot.shape()[0];
  const Value rows =
      concat({reshape_to(transpose(state, {.perm = {0, 2, 1}}), {slots * kept, channels}), x},
             {.axis = 0});
  const Value starts = i64_of(slice_axis(q_start, 0, 0, seqs)),
              ends = i64_of(slice_axis(q_start, 0, 1, seqs + 1));
  const Value n_kept = number(g, kept), first_token = number(g, slots * kept);
  // The row that lies `back` + tap places behind token 0 of a sequence, negative ones in its state.
  const auto row_at = [&](Value place, Value start, Value of_slot) {
    return where(less(place, scalar_like(place, 0)), of_slot * n_kept + n_kept + place,
                 first_token + start + place);
  };
  const Value seq = sequence_of_tokens(q_start, tokens);
  const Value start = reshape_to(gather(starts, seq), {tokens, 1});
  const Value place = reshape_to(iota_of(g, tokens), {tokens, 1}) - start - n_kept +
                      reshape_to(iota_of(g, taps), {1, taps});
  const Value at = row_at(place, start, reshape_to(gather(slot, seq), {tokens, 1}));
  const Value by_tap = reshape_to(transpose(w, {.perm = {1, 0}}), {1, taps, channels});
  Value y = sum(gather(rows, at) * by_tap, {.axes = {1}});
  if (args.has(5)) y = y + wide(args[5]);
  // The states after so many tokens [seqs, columns], as [seqs * columns, kept, channels].
  const auto state_after = [&](Value n_tokens, Dim columns) {
    const Value at = reshape_to(n_tokens, {seqs, columns, 1}) - n_kept +
                     reshape_to(iota_of(g, kept), {1, 1, kept});
    const Value found =
        gather(rows, row_at(at, reshape_to(starts, {seqs, 1, 1}), reshape_to(slot, {seqs, 1, 1})));
    return transpose(reshape_to(found, {seqs * columns, kept, channels}), {.perm = {0, 2, 1}});
  };
  const Value counts = reshape_to(ends - starts, {seqs, 1});
  Value next;
  if (!args.has(6)) {
    next = scatter_nd(state, reshape_to(slot, {seqs, 1}), state_after(counts, 1));
  } else {
    // What is not wanted goes to an entry behind the slots.
    const Dim n = args[6].shape()[1];
    const Value after = counts - number(g, n) + 1 + reshape_to(iota_of(g, n), {1, n});
    const Value given = i64_of(args[6]), zero = scalar_like(given, 0);
    // One behind the slots is none of them.
    const Value to = where(less(given, number(g, slots)), given, given + 1);
    const Value wanted = logical_and(greater(after, zero), greater_equal(to, zero));
    const Value nobody = full(g, {1, channels, kept}, state.dtype(), 0);
    next = scatter_nd(concat({state, nobody}, {.axis = 0}),
                      reshape_to(where(wanted, to, number(g, slots)), {seqs * n, 1}),
                      state_after(maximum(after, zero), n));
    next = slice_axis(next, 0, 0, slots);
  }
  return {as_dtype(next, args[0].dtype()), as_dtype(y, args[1].dtype())};
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/ragged_samples.py";
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-0.125, 0.25, -0.5, -0.75,
    0.25, -0.875, -0.75, 0.375, 0.375, 0.75, -0.125, -0.625}}, In{.shape = {5, 2}, .dtype = kF32,
    .values = {-0.625, -0.625, -0.875, 0.5, 0.5, 0, 0.375, -0.125, 0.5, -0.375}}, In{.shape = {2,
    3}, .dtype = kF32, .values = {0, -0.875, -0.625, -0.125, -0.75, -0.375}}, In{.shape = {4},
    .dtype = kI32, .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1, 0}}},
    NoAttrs{}, {Expect{{3, 2, 2}, {0.375, 0.5, -0.125, -0.375, 0.25, -0.875, -0.75, 0.375, -0.625,
    -0.875, -0.625, 0.5}}, Expect{{5, 2}, {-0.265625, 0.71875, 1.09375, 0.359375, -0.53125, 0.625,
    -0.671875, 0.140625, -0.640625, 0.234375}}});
  s.expect(source, {In{.shape = {3, 2, 2}, .dtype = kF32, .values = {-1, -0.25, -0.75, 0.125,
    -0.375, 0.375, -0.875, 0.25, -1, 0.5, -0.5, -1}}, In{.shape = {5, 2}, .dtype = kF32, .values =
    {-0.5, 0.375, -0.5, 0.125, 1, 0.75, -0.875, 0.875, -0.125, -1}}, In{.shape = {2, 3}, .dtype =
    kF32, .values = {-0.625, 0.75, 0.625, -0.5, -0.75, 0.25}}, In{.shape = {4}, .dtype = kI32,
    .values = {0, 2, 2, 5}}, In{.shape = {3}, .dtype = kI32, .values = {2, 1, 0}}, In{.shape = {2},
    .dtype = kF32, .values = {-1, 0.375}}}, NoAttrs{}, {Expect{{3, 2, 2}, {-0.875, -0.125, 0.875,
    -1, -0.375, 0.375, -0.875, 0.25, -0.5, -0.5, 0.375, 0.125}}, Expect{{5, 2}, {-0.3125, 1.46875,
    -2, 0.625, 0.0625, 0.84375, -0.640625, -0.03125, -2.359375, -0.90625}}});
  // clang-format on
  // golden:end
}

}  // namespace

void CausalConv1d::samples(Samples& s) {
  const In starts = ragged_ints({0, 3, 3, 8}), slots = ragged_ints({2, 0, 3});
  s.add({In{.shape = {4, 19, 3}}, In{.shape = {8, 19}}, In{.shape = {19, 4}}, starts, slots,
         In{.shape = {19}}})
      .length = 4;
  s.add({In{.shape = {1, 5, 1}}, In{.shape = {6, 5}}, In{.shape = {5, 2}}, ragged_ints({0, 6}),
         ragged_ints({0})})
      .length = 2;
  s.add({In{.shape = {2, 3, 0}}, In{.shape = {2, 3}}, In{.shape = {3, 1}}, ragged_ints({0, 2}),
         ragged_ints({1})});
  s.add({In{.shape = {2, 3, 2}}, In{.shape = {0, 3}}, In{.shape = {3, 3}}, ragged_ints({0, 0}),
         ragged_ints({1})});
  s.add({In{.shape = {6, 19, 3}}, In{.shape = {8, 19}}, In{.shape = {19, 4}}, starts, slots,
         In::absent(), ragged_table(4, {-1, 1, -1, 2, -1, -1, -1, -1, 4, -1, 5, 3})})
      .length = 4;
  const In state{.shape = {2, 3, 1}}, x{.shape = {4, 3}}, w{.shape = {3, 2}};
  const In whole = ragged_ints({0, 4}), one = ragged_ints({0});
  s.bad({state, x, In{.shape = {4, 2}}, whole, one}, NoAttrs{}, "sizes of w at axis 0");
  s.bad({In{.shape = {2, 3, 2}}, x, w, whole, one}, NoAttrs{}, "sizes of state at axis 2");
  s.bad({state, x, w, ragged_ints({0, 1, 4}), one}, NoAttrs{}, "sequences + 1");
  s.bad({state, x, w, whole, In{.shape = {1}, .dtype = kI64}}, NoAttrs{}, "slot is not i32");
  s.bad({state, x, w, whole, ragged_ints({2})}, NoAttrs{}, "out of range");
  s.bad({state, x, w, whole, one, In::absent(), one}, NoAttrs{}, "kept");
  s.bad({state, x, w, whole, one, In::absent(), ragged_table(1, {2})}, NoAttrs{}, "out of range");
  s.bad({state, x, w, ragged_ints({0, 3}), one}, NoAttrs{}, "out of range");
  add_literal_samples(s);
}

}  // namespace lamella
