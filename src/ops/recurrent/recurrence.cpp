#include "lamella/ops/recurrent/recurrence.h"

#include "lamella/ops/control/scan.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {
namespace {

constexpr size_t kX = 0, kW = 1, kR = 2, kBias = 3, kLengths = 4;

// Entry `at` of the first axis.
Value entry(Value x, int64_t at) {
  const Value one = slice_axis(x, 0, at, at + 1);
  return reshape_to(one, Shape(std::vector<Dim>(one.shape().begin() + 1, one.shape().end())));
}

struct Matrices {
  Value w, r, w_bias, r_bias, lengths;
};

// One direction: y, then the states.
Values run_direction(Value x, const Matrices& m, Values states, bool reverse,
                     const RecurrentCell& cell) {
  Graph& g = *x.graph;
  Value gates = matmul(x, m.w);
  if (!m.w_bias.absent()) gates = gates + m.w_bias;
  const Dim steps = x.shape()[0];
  Graph body = g.sub_graph("step");
  RecurrentStep step;
  for (size_t i = 0; i < states.size(); ++i)
    step.states.push_back(body.input("state" + std::to_string(i), states[i].type()));
  step.gates = body.input("gates", Type(gates.dtype(), {gates.shape()[1], gates.shape()[2]}));
  Values inputs = states;
  inputs.push_back(gates);
  Value at, lengths;
  if (!m.lengths.absent()) {
    at = body.input("at", Type(m.lengths.dtype(), {}));
    inputs.push_back(iota_of(g, steps, m.lengths.dtype()));
  }
  const int64_t n_scanned = m.lengths.absent() ? 1 : 2;
  step.r = body.input("r", m.r.type());
  inputs.push_back(m.r);
  if (!m.r_bias.absent()) {
    step.r_bias = body.input("r_bias", m.r_bias.type());
    inputs.push_back(m.r_bias);
  }
  if (!m.lengths.absent()) {
    lengths = body.input("lengths", m.lengths.type());
    inputs.push_back(m.lengths);
  }
  Values next = cell(step);
  Value y = next[0];
  if (!m.lengths.absent()) {
    const Value runs = reshape_to(less(at, lengths), {lengths.shape()[0], 1});
    y = where(runs, y, scalar_like(y, 0));
    for (size_t i = 0; i < next.size(); ++i) next[i] = where(runs, next[i], step.states[i]);
  }
  for (size_t i = 0; i < next.size(); ++i) body.output("next" + std::to_string(i), next[i]);
  body.output("y", y);
  Values results = scan(inputs, {std::make_shared<Graph>(std::move(body)),
                                 static_cast<int64_t>(states.size()), n_scanned, reverse});
  results.insert(results.begin(), results.back());
  results.pop_back();
  return results;
}

Value joined(const Values& parts, int64_t axis) {
  Values whole;
  for (const Value& p : parts) whole.push_back(unsqueeze(p, {.axes = {axis}}));
  return whole.size() == 1 ? whole[0] : concat(whole, {.axis = axis});
}

}  // namespace

void check_recurrent_inputs(TypeCx& cx, Direction direction, int64_t n_gates, size_t n_states) {
  cx.require_float(kX);
  for (size_t i = kX; i <= kR; ++i) cx.require_rank(i, 3), cx.require_same_dtype(kX, i);
  const Shape &x = cx.shape(kX), &w = cx.shape(kW), &r = cx.shape(kR);
  const Dim directions = n_directions(direction), hidden = r[2];
  cx.require_equal(w[0], directions, "directions and first axis of w");
  cx.require_equal(r[0], directions, "directions and first axis of r");
  cx.require_equal(r[1], hidden * n_gates, "rows of r and gates times hidden size");
  cx.require_equal(w[1], r[1], "rows of w and r");
  cx.require_equal(w[2], x[2], "input sizes of x and w");
  if (cx.has(kBias)) {
    cx.require_rank(kBias, 2), cx.require_same_dtype(kX, kBias);
    cx.require_equal(cx.shape(kBias)[0], directions, "directions and first axis of bias");
    cx.require_equal(cx.shape(kBias)[1], r[1] * 2, "entries of bias and twice the rows of r");
  }
  if (cx.has(kLengths)) {
    cx.require_int(kLengths), cx.require_rank(kLengths, 1);
    cx.require_equal(cx.shape(kLengths)[0], x[1], "rows of lengths and x");
  }
  const Shape state{directions, x[1], hidden};
  for (size_t i = kRecurrentStates; i < kRecurrentStates + n_states; ++i) {
    if (!cx.has(i)) continue;
    cx.require_rank(i, 3), cx.require_same_dtype(kX, i);
    for (int64_t d = 0; d < 3; ++d)
      cx.require_equal(cx.shape(i)[d], state[d], str("sizes of ", cx.input_name(i)));
  }
}

void recurrent_type(TypeCx& cx, Direction direction, int64_t n_gates, size_t n_states) {
  check_recurrent_inputs(cx, direction, n_gates, n_states);
  const Dim steps = cx.shape(kX)[0], batch = cx.shape(kX)[1], hidden = cx.shape(kR)[2],
            directions = n_directions(direction);
  cx.out(cx.in(kX).dtype, {steps, directions, batch, hidden});
  for (size_t i = 0; i < n_states; ++i) cx.out(cx.in(kX).dtype, {directions, batch, hidden});
}

Value gate_of(Value gates, int64_t index, Dim hidden) {
  return slice_axis(gates, 1, hidden * index, hidden * (index + 1));
}

Values recurrent_formula(const Args& args, Direction direction, size_t n_states, bool keeps_r_bias,
                         const RecurrentCell& cell) {
  const Value x = wide(args[kX]), w = wide(args[kW]), r = wide(args[kR]);
  const Dim batch = x.shape()[1], hidden = r.shape()[2], rows = r.shape()[1];
  Values ys;
  std::vector<Values> states(n_states);
  for (int64_t d = 0; d < n_directions(direction); ++d) {
    Matrices m{entry(w, d), entry(r, d), {}, {}, args.has(kLengths) ? args[kLengths] : Value{}};
    if (args.has(kBias)) {
      const Value bias = entry(wide(args[kBias]), d);
      m.w_bias = slice_axis(bias, 0, 0, rows);
      const Value r_bias = slice_axis(bias, 0, rows, rows * 2);
      if (keeps_r_bias)
        m.r_bias = r_bias;
      else
        m.w_bias = m.w_bias + r_bias;
    }
    Values start;
    for (size_t i = 0; i < n_states; ++i)
      start.push_back(args.has(kRecurrentStates + i)
                          ? entry(wide(args[kRecurrentStates + i]), d)
                          : full(args.graph(), {batch, hidden}, x.dtype(), 0));
    const Values out = run_direction(x, m, start, direction == Direction::reverse || d == 1, cell);
    ys.push_back(out[0]);
    for (size_t i = 0; i < n_states; ++i) states[i].push_back(out[i + 1]);
  }
  Values results{as_dtype(joined(ys, 1), args[kX].dtype())};
  for (const Values& s : states) results.push_back(as_dtype(joined(s, 0), args[kX].dtype()));
  return results;
}

}  // namespace lamella
