#include "lamella/ops/recurrent/ragged.h"

#include "lamella/ops/control/scan.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/index/searchsorted.h"
#include "lamella/ops/nn/wide.h"
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

Values ragged_scan(Value state, const Values& entries, const Values& captures, Value q_start,
                   Value slot, DType type, const TokenStep& step) {
  Graph& g = *state.graph;
  const Dim tokens = entries[0].shape()[0];
  const Value slots = as_dtype(gather(slot, sequence_of_tokens(q_start, tokens)), kI64);
  Graph body = g.sub_graph("token");
  Values inputs{as_dtype(state, type)};
  const Value states = body.input("states", inputs[0].type());
  Values body_entries, body_captures;
  for (const Value& x : entries) {
    inputs.push_back(as_dtype(x, type));
    body_entries.push_back(
        body.input("entry" + std::to_string(body_entries.size()),
                   Type(type, Shape(std::vector<Dim>(x.shape().begin() + 1, x.shape().end())))));
  }
  inputs.push_back(slots);
  const Value at = body.input("slot", Type(kI64, {}));
  for (const Value& x : captures) {
    inputs.push_back(as_dtype(x, type));
    body_captures.push_back(
        body.input("capture" + std::to_string(body_captures.size()), inputs.back().type()));
  }
  const auto [next, y] = step(gather(states, at), body_entries, body_captures);
  Shape one = next.shape();
  one.dims.insert(one.dims.begin(), 1);
  body.output("states", scatter_nd(states, reshape_to(at, {1, 1}), reshape_to(next, one)));
  body.output("y", y);
  Values results = scan(inputs, {std::make_shared<Graph>(std::move(body)), 1,
                                 static_cast<int64_t>(entries.size()) + 1, false});
  return {as_dtype(results[0], state.dtype()), results[1]};
}

}  // namespace lamella
