#include "lamella/ops/recurrent/recurrence_grad.h"

#include "lamella/ops/control/scan.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {
namespace {

enum : size_t { kX, kW, kR, kBias, kLengths, kH0, kC0, kY, kDY, kDH, kDC };
using Attrs = RecurrenceGrad::Attrs;
using Cell = RecurrenceCell;

int64_t n_gates(Cell cell) {
  constexpr int64_t kGates[] = {4, 3, 3, 1, 1};
  return kGates[static_cast<int>(cell)];
}

// Entry `at` of an axis.
Value entry(Value x, int64_t axis, int64_t at) {
  Shape sizes = x.shape();
  sizes.dims.erase(sizes.dims.begin() + axis);
  return reshape_to(slice_axis(x, axis, at, at + 1), sizes);
}

// The products of one direction [steps, batch, hidden], gate by gate, and what surrounds them.
struct Walk {
  bool reverse;
  Value runs;  // bool [steps, batch, 1]: within the row's length; absent: all
  Dim hidden;
  Value part(Value gates, int64_t at) const {
    return slice_axis(gates, static_cast<int64_t>(gates.shape().rank()) - 1, hidden * at,
                      hidden * (at + 1));
  }
  Value kept(Value x) const { return runs.absent() ? x : where(runs, x, scalar_like(x, 0)); }
};

// One step: from the carried values and the entries to the next carried ones and an output.
using Step = std::function<std::pair<Values, Value>(const Values& carried, const Values& entries,
                                                    const Values& captures)>;

// Runs steps in turn; where a row does not run, carried values stay and the output is 0. Gives the
// last carried values, then the outputs.
Values walk_steps(const Walk& walk, bool reverse, const Values& carried, const Values& scanned,
                  const Values& captures, const Step& step) {
  Graph body = carried[0].graph->sub_graph("step");
  Values inputs = carried;
  const auto add = [&](const char* name, const Values& values, size_t cut) {
    Values inside;
    for (const Value& v : values) {
      Shape sizes = v.shape();
      sizes.dims.erase(sizes.dims.begin(), sizes.dims.begin() + static_cast<int64_t>(cut));
      inside.push_back(body.input(name + std::to_string(inside.size()), Type(v.dtype(), sizes)));
    }
    return inside;
  };
  const Values in = add("carried", carried, 0), entries = add("entry", scanned, 1);
  inputs.insert(inputs.end(), scanned.begin(), scanned.end());
  Value runs;
  if (!walk.runs.absent()) {
    runs = add("runs", {walk.runs}, 1)[0];
    inputs.push_back(walk.runs);
  }
  const Values captured = add("capture", captures, 0);
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  auto [next, y] = step(in, entries, captured);
  for (size_t i = 0; i < next.size(); ++i)
    body.output("next" + std::to_string(i), runs.absent() ? next[i] : where(runs, next[i], in[i]));
  body.output("y", runs.absent() ? y : where(runs, y, scalar_like(y, 0)));
  const int64_t n_scanned = static_cast<int64_t>(scanned.size()) + (runs.absent() ? 0 : 1);
  return scan(inputs, {std::make_shared<Graph>(std::move(body)),
                       static_cast<int64_t>(carried.size()), n_scanned, reverse});
}

Value one_minus(Value x) { return scalar_like(x, 1) - x; }
Value of_sigmoid(Value y, Value d) { return d * y * one_minus(y); }
Value of_tanh(Value y, Value d) { return d * one_minus(y * y); }
Value through(Value d, Value r) { return matmul(d, r, {.transpose_w = false}); }

// Both gradients of the gates, in the order of w's rows.
Value joined(const Values& of_w, const Values& of_r) {
  Values all = of_w;
  all.insert(all.end(), of_r.begin(), of_r.end());
  return all.size() == 1 ? all[0] : concat(all, {.axis = 1});
}

struct DirectionInputs {
  Value from_x;     // w's products and its bias; r's too but for gru's third
  Value r, r_bias;  // [gates * hidden, hidden]; its bias or none
  Value seen, y, d_y, d_h, c0, d_c;
};
// The gradients of the gates and parts side by side [steps, batch, 2 * rows], the last carried
// values, and what r has seen beside h.
struct DirectionResult {
  Value gates;
  Values carried;
  Value reset_h;
};

DirectionResult lstm_back(const Walk& walk, const DirectionInputs& in, bool onnx) {
  const Value sums = in.from_x + matmul(in.seen, in.r);
  const auto gate = [&](int64_t i) { return walk.part(sums, i); };
  const Value i = sigmoid(gate(0)), f = sigmoid(gate(onnx ? 2 : 1)), g = tanh(gate(onnx ? 3 : 2)),
              o = sigmoid(gate(onnx ? 1 : 3));
  const Values cells = walk_steps(walk, walk.reverse, {in.c0}, {f, i * g}, {},
                                  [](const Values& c, const Values& x, const Values&) {
                                    return std::pair(Values{x[0] * c[0] + x[1]}, c[0]);
                                  });
  const Value after = tanh(f * cells[1] + i * g);
  const Values back = walk_steps(
      walk, !walk.reverse, {in.d_h, in.d_c}, {in.d_y, i, f, g, o, cells[1], after}, {in.r},
      [&](const Values& d, const Values& x, const Values& captures) {
        const Value d_h = d[0] + x[0], d_c = d[1] + of_tanh(x[6], d_h) * x[4];
        const Value of_i = of_sigmoid(x[1], d_c * x[3]), of_f = of_sigmoid(x[2], d_c * x[5]),
                    of_g = of_tanh(x[3], d_c * x[1]), of_o = of_sigmoid(x[4], d_h * x[6]);
        const Values rows = onnx ? Values{of_i, of_o, of_f, of_g} : Values{of_i, of_f, of_g, of_o};
        return std::pair(Values{through(concat(rows, {.axis = 1}), captures[0]), d_c * x[2]},
                         joined(rows, rows));
      });
  return {back[2], {back[0], back[1]}, {}};
}

DirectionResult gru_back(const Walk& walk, const DirectionInputs& in, bool onnx, bool linear) {
  const Dim hidden = walk.hidden;
  const Value r_both = slice_axis(in.r, 0, 0, hidden * 2),
              r_new = slice_axis(in.r, 0, hidden * 2, hidden * 3);
  const Value both = slice_axis(in.from_x, 2, 0, hidden * 2) + matmul(in.seen, r_both);
  const Value reset = sigmoid(walk.part(both, onnx ? 1 : 0)),
              z = sigmoid(walk.part(both, onnx ? 0 : 1)), h = in.seen;
  const Value reset_h = walk.kept(reset * h);
  Value part = matmul(linear ? h : reset_h, r_new);
  if (!in.r_bias.absent()) part = part + slice_axis(in.r_bias, 0, hidden * 2, hidden * 3);
  const Value n = tanh(walk.part(in.from_x, 2) + (linear ? reset * part : part));
  const Values back = walk_steps(
      walk, !walk.reverse, {in.d_h}, {in.d_y, reset, z, n, part, h}, {r_both, r_new},
      [&](const Values& d, const Values& x, const Values& captures) {
        const Value d_h = d[0] + x[0], d_n = of_tanh(x[3], d_h * one_minus(x[2]));
        const Value d_z = of_sigmoid(x[2], d_h * (x[5] - x[3]));
        const Value d_part = linear ? d_n * x[1] : d_n, down = through(d_part, captures[1]);
        const Value d_r = of_sigmoid(x[1], linear ? d_n * x[4] : down * x[5]);
        const Values pair = onnx ? Values{d_z, d_r} : Values{d_r, d_z};
        const Value d_both = through(concat(pair, {.axis = 1}), captures[0]);
        const Value next = d_h * x[2] + d_both + (linear ? down : down * x[1]);
        return std::pair(Values{next}, joined({pair[0], pair[1], d_n}, {pair[0], pair[1], d_part}));
      });
  return {back[1], {back[0]}, linear ? Value{} : reset_h};
}

DirectionResult rnn_back(const Walk& walk, const DirectionInputs& in, bool relu) {
  const Values back =
      walk_steps(walk, !walk.reverse, {in.d_h}, {in.d_y, in.y}, {in.r},
                 [&](const Values& carried, const Values& x, const Values& captures) {
                   const Value d = carried[0] + x[0], zero = scalar_like(d, 0);
                   const Value sum = relu ? where(greater(x[1], zero), d, zero) : of_tanh(x[1], d);
                   return std::pair(Values{through(sum, captures[0])}, joined({sum}, {sum}));
                 });
  return {back[1], {back[0]}, {}};
}

// The state before each position's step, from the outputs.
Value states_seen(const Walk& walk, Value y, Value h0, Value lengths) {
  const Dim steps = y.shape()[0];
  const Value first = unsqueeze(h0, {.axes = {0}});
  if (!walk.reverse) return walk.kept(slice_axis(concat({first, y}, {.axis = 0}), 0, 0, steps));
  const Value next = slice_axis(concat({y, first}, {.axis = 0}), 0, 1, steps + 1);
  if (lengths.absent()) return next;
  Graph& g = *y.graph;
  const Value behind = iota_of(g, steps, lengths.dtype()) + g.scalar(lengths.dtype(), 1);
  const Value is_last =
      less(reshape_to(behind, {steps, 1, 1}), reshape_to(lengths, {1, lengths.shape()[0], 1}));
  return walk.kept(where(is_last, next, first));
}

}  // namespace

void RecurrenceGrad::type(TypeCx& cx, const Attrs& a) {
  const bool is_lstm = a.cell == Cell::lstm;
  check_recurrent_inputs(cx, a.direction, n_gates(a.cell), is_lstm ? 2 : 1);
  cx.check(is_lstm || (!cx.has(kC0) && !cx.has(kDC)), "only lstm has cells; got c0 or d_c");
  cx.check(!is_lstm || cx.has(kDC), "lstm wants d_c; got none");
  const Dim directions = n_directions(a.direction), hidden = cx.shape(kR)[2];
  const Shape states{directions, cx.shape(kX)[1], hidden},
      all{cx.shape(kX)[0], directions, cx.shape(kX)[1], hidden};
  const auto require = [&](size_t i, const Shape& sizes) {
    cx.require_rank(i, sizes.rank()), cx.require_same_dtype(kX, i);
    for (size_t d = 0; d < sizes.rank(); ++d)
      cx.require_equal(cx.shape(i).dims[d], sizes.dims[d], str("sizes of ", cx.input_name(i)));
  };
  require(kY, all), require(kDY, all), require(kDH, states);
  if (is_lstm) require(kDC, states);
  const DType type = wide_dtype(cx.in(kX).dtype);
  const auto last = [&](Dim size) { return Shape{all[0], all[1], all[2], size}; };
  for (int i = 0; i < 2; ++i) cx.out(type, last(cx.shape(kR)[1]));
  cx.out(type, last(a.cell == Cell::gru_reset_before ? hidden * 2 : hidden));
  cx.out(type, states);
  cx.out(type, is_lstm ? states : Shape{directions, cx.shape(kX)[1], 0});
}

Values RecurrenceGrad::expand(const Args& args, const Attrs& a) {
  const Value x = wide(args[kX]), r = wide(args[kR]);
  const Dim steps = x.shape()[0], batch = x.shape()[1], hidden = r.shape()[2], rows = r.shape()[1];
  const Value lengths = args[kLengths];
  const bool is_lstm = a.cell == Cell::lstm;
  Walk walk{false, {}, hidden};
  if (!lengths.absent())
    walk.runs = less(reshape_to(iota_of(args.graph(), steps, lengths.dtype()), {steps, 1, 1}),
                     reshape_to(lengths, {1, batch, 1}));
  const auto state = [&](size_t i, int64_t d) {
    return args.has(i) ? entry(wide(args[i]), 0, d)
                       : full(args.graph(), {batch, hidden}, x.dtype(), 0);
  };
  std::vector<Values> results(5);
  for (int64_t d = 0; d < n_directions(a.direction); ++d) {
    walk.reverse = d == 1 || a.direction == Direction::reverse;
    DirectionInputs in{};
    in.y = entry(wide(args[kY]), 1, d), in.d_y = entry(wide(args[kDY]), 1, d);
    in.r = entry(r, 0, d), in.d_h = state(kDH, d), in.c0 = state(kC0, d), in.d_c = state(kDC, d);
    in.seen = states_seen(walk, in.y, state(kH0, d), lengths);
    in.from_x = matmul(x, entry(wide(args[kW]), 0, d));
    if (args.has(kBias)) {
      const Value bias = entry(wide(args[kBias]), 0, d);
      in.from_x = in.from_x + slice_axis(bias, 0, 0, rows);
      in.r_bias = slice_axis(bias, 0, rows, rows * 2);
      if (n_gates(a.cell) == 3) {
        const Value both = slice_axis(in.r_bias, 0, 0, hidden * 2);
        in.from_x = concat({slice_axis(in.from_x, 2, 0, hidden * 2) + both,
                            slice_axis(in.from_x, 2, hidden * 2, rows)},
                           {.axis = 2});
      } else {
        in.from_x = in.from_x + in.r_bias;
      }
    }
    const DirectionResult out = is_lstm ? lstm_back(walk, in, a.onnx_gates)
                                : n_gates(a.cell) == 3
                                    ? gru_back(walk, in, a.onnx_gates, a.cell == Cell::gru)
                                    : rnn_back(walk, in, a.cell == Cell::rnn_relu);
    results[0].push_back(slice_axis(out.gates, 2, 0, rows));
    results[1].push_back(slice_axis(out.gates, 2, rows, rows * 2));
    results[2].push_back(out.reset_h.absent() ? in.seen
                                              : concat({in.seen, out.reset_h}, {.axis = 2}));
    results[3].push_back(out.carried[0]);
    results[4].push_back(is_lstm ? out.carried[1] : full(args.graph(), {batch, 0}, x.dtype(), 0));
  }
  Values all;
  for (size_t i = 0; i < results.size(); ++i) {
    Values parts;
    for (const Value& v : results[i]) parts.push_back(unsqueeze(v, {.axes = {i < 3 ? 1 : 0}}));
    all.push_back(parts.size() == 1 ? parts[0] : concat(parts, {.axis = i < 3 ? 1 : 0}));
  }
  return all;
}

void recurrence_vjp(VjpCx& cx, const Attrs& a) {
  const bool is_lstm = a.cell == Cell::lstm;
  const auto given = [&](size_t i) { return cx.has(i) ? cx.in(i) : Value{}; };
  const auto gradient = [&](size_t i) {
    const Type& type = cx.out(i).type();
    return cx.has_grad(i) ? cx.grad(i) : full(cx.graph(), type.shape, type.dtype, 0);
  };
  Values inputs;
  for (size_t i = kX; i <= kC0; ++i) inputs.push_back(i == kC0 && !is_lstm ? Value{} : given(i));
  for (const Value& v : {cx.out(0), gradient(0), gradient(1)}) inputs.push_back(v);
  if (is_lstm) inputs.push_back(gradient(2));
  const Values d = recurrence_grad(inputs, a, &cx.graph());
  const Value x = wide(cx.in(kX)), w = wide(cx.in(kW));
  const Dim steps = x.shape()[0], directions = w.shape()[0], batch = x.shape()[1],
            rows = w.shape()[1], hidden = cx.in(kR).shape()[2], all = steps * batch;
  const auto set = [&](size_t i, Value v) {
    if (cx.has(i)) cx.set(i, as_dtype(v, cx.in(i).dtype()));
  };
  // [directions, size, steps * batch].
  const auto by_rows = [&](Value v) {
    return reshape_to(transpose(v, {.perm = {1, 3, 0, 2}}), {directions, v.shape()[3], all});
  };
  const Value of_w = by_rows(d[0]), of_r = by_rows(d[1]), seen = by_rows(d[2]);
  set(kW, matmul(of_w, reshape_to(x, {all, x.shape()[2]}), {.transpose_w = false}));
  if (a.cell == Cell::gru_reset_before) {
    const auto part = [](Value v, Dim from, Dim to) { return slice_axis(v, 1, from, to); };
    set(kR, concat({matmul(part(of_r, 0, hidden * 2), part(seen, 0, hidden)),
                    matmul(part(of_r, hidden * 2, rows), part(seen, hidden, hidden * 2))},
                   {.axis = 1}));
  } else {
    set(kR, matmul(of_r, seen));
  }
  const Value of_x = matmul(transpose(d[0], {.perm = {1, 0, 2, 3}}), unsqueeze(w, {.axes = {1}}),
                            {.transpose_w = false});
  set(kX, sum(of_x, {.axes = {0}}));
  if (cx.has(kBias))
    set(kBias, concat({sum(of_w, {.axes = {2}}), sum(of_r, {.axes = {2}})}, {.axis = 1}));
  set(kH0, d[3]);
  if (is_lstm) set(kC0, d[4]);
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/recurrence_grad_samples.py";
  s.expect(source, {In{.shape = {2, 1, 1}, .dtype = kF32, .values = {0.125, 0.875}}, In{.shape = {1,
    8, 1}, .dtype = kF32, .values = {0, -0.875, 0.125, 0.375, -0.875, 0, -0.25, 0.375}}, In{.shape =
    {1, 8, 2}, .dtype = kF32, .values = {0.375, -1, -0.625, -1, 0.5, -0.625, 0.875, 1, 0.25, -0.375,
    -0.375, 0.25, 0.625, 1, -0.875, 0.375}}, In{.shape = {1, 16}, .dtype = kF32, .values = {-0.875,
    -0.625, -0.5, -0.125, 0.375, -0.875, 0.125, -0.5, -1, -0.375, 0, -1, 0.5, 0.75, 1, 0.875}},
    In{.shape = {1}, .dtype = kI32, .values = {2}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values =
    {0.75, 0}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values = {-0.375, 0.25}}, In{.shape = {2, 1,
    1, 2}, .dtype = kF32, .values = {0.021030386057318832, 0.03981201603606029,
    -0.03297357564151745, 0.04839817379007789}}, In{.shape = {2, 1, 1, 2}, .dtype = kF32, .values =
    {-1, 0.25, 0.25, 0.375}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values = {-0.625, 1}},
    In{.shape = {1, 1, 2}, .dtype = kF32, .values = {0.25, 0.125}}}, Attrs{.direction =
    Direction::reverse, .cell = RecurrenceCell::lstm, .onnx_gates = true}, {Expect{{2, 1, 1, 8},
    {-0.031146966, 0.0353204283, -0.0215210447, 0.0369464885, 0.00509196538, 0.0114454655,
    -0.0153032461, 0.0862774483, -0.0200962455, 0.00168003548, -0.0024879504, 0.0113749905,
    0.014926575, 0.0246318137, -0.00620823024, 0.039619771}}, Expect{{2, 1, 1, 8}, {-0.031146966,
    0.0353204283, -0.0215210447, 0.0369464885, 0.00509196538, 0.0114454655, -0.0153032461,
    0.0862774483, -0.0200962455, 0.00168003548, -0.0024879504, 0.0113749905, 0.014926575,
    0.0246318137, -0.00620823024, 0.039619771}}, Expect{{2, 1, 1, 2}, {-0.0329735756, 0.0483981738,
    0.75, 0}}, Expect{{1, 1, 2}, {-0.0439297026, 0.0405558411}}, Expect{{1, 1, 2}, {-0.0933666058,
    0.164160556}}});
  s.expect(source, {In{.shape = {2, 1, 1}, .dtype = kF32, .values = {-0.25, -0.75}}, In{.shape = {1,
    6, 1}, .dtype = kF32, .values = {0.625, 0.375, 0.125, 0.375, 0.875, 0.75}}, In{.shape = {1, 6,
    2}, .dtype = kF32, .values = {0.375, 0.375, -0.75, -0.375, -0.25, -1, -0.25, -0.125, 0.625,
    0.25, 1, 0.5}}, In{.shape = {1, 12}, .dtype = kF32, .values = {0.5, 0.375, -0.625, 0.25, 0,
    0.25, -0.125, -0.625, -0.375, -0.25, 0.375, -0.125}}, In{.shape = {1}, .dtype = kI32, .values =
    {2}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values = {-0.375, -1}}, In::absent(), In{.shape =
    {2, 1, 1, 2}, .dtype = kF32, .values = {-0.3138496695498082, -0.7621957688163037,
    -0.47889352419547593, -0.6830311260717634}}, In{.shape = {2, 1, 1, 2}, .dtype = kF32, .values =
    {-0.625, -0.875, 0.5, 1}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values = {-0.625, 0.625}}},
    Attrs{.direction = Direction::forward, .cell = RecurrenceCell::gru, .onnx_gates = true},
    {Expect{{2, 1, 1, 6}, {0.00963979261, -0.0116031903, 0.00537727635, -0.00719080398,
    -0.196846786, 0.0288757186, -0.00780210038, -0.0639984036, 0.000148732466, -0.105882853,
    -0.0516453391, 0.518028864}}, Expect{{2, 1, 1, 6}, {0.00963979261, -0.0116031903, 0.00537727635,
    -0.00719080398, -0.101498123, 0.0153390524, -0.00780210038, -0.0639984036, 0.000148732466,
    -0.105882853, -0.0225722485, 0.245104105}}, Expect{{2, 1, 1, 2}, {-0.375, -1, -0.31384967,
    -0.762195769}}, Expect{{1, 1, 2}, {-0.192967469, 0.0345757236}}, Expect{{1, 1, 0}, {}}});
  s.expect(source, {In{.shape = {2, 1, 1}, .dtype = kF32, .values = {0.75, -0.25}}, In{.shape = {1,
    6, 1}, .dtype = kF32, .values = {0, -0.5, 0.125, 0.25, -0.875, -1}}, In{.shape = {1, 6, 2},
    .dtype = kF32, .values = {0.375, -0.125, 0.25, 0.5, -0.875, -0.125, 0, 0.25, 0.625, -0.125, 1,
    0.25}}, In::absent(), In::absent(), In::absent(), In::absent(), In{.shape = {2, 1, 1, 2}, .dtype
    = kF32, .values = {-0.22676164786031278, -0.1937745659920096, 0.10934526997409859,
    0.12628494006759422}}, In{.shape = {2, 1, 1, 2}, .dtype = kF32, .values = {0.5, 0.75, 0.25,
    0.375}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values = {0.625, 0.875}}}, Attrs{.direction =
    Direction::reverse, .cell = RecurrenceCell::gru_reset_before}, {Expect{{2, 1, 1, 6},
    {0.0195322635, 0.00212144912, 0.1873858, 0.288419529, 0.391441459, 0.469979699, 0, 0,
    -0.0545305391, -0.0827556873, 0.490674487, 0.655729023}}, Expect{{2, 1, 1, 6}, {0.0195322635,
    0.00212144912, 0.1873858, 0.288419529, 0.391441459, 0.469979699, 0, 0, -0.0545305391,
    -0.0827556873, 0.490674487, 0.655729023}}, Expect{{2, 1, 1, 4}, {0.10934527, 0.12628494,
    0.0553619892, 0.0542198948, 0, 0, 0, 0}}, Expect{{1, 1, 2}, {1.02761499, 0.695937619}},
    Expect{{1, 1, 0}, {}}});
  s.expect(source, {In{.shape = {2, 1, 1}, .dtype = kF32, .values = {-0.5, 0}}, In{.shape = {1, 2,
    1}, .dtype = kF32, .values = {0.125, -0.125}}, In{.shape = {1, 2, 2}, .dtype = kF32, .values =
    {0, 0.375, -1, 0.375}}, In{.shape = {1, 4}, .dtype = kF32, .values = {-0.375, -0.375, 0, 0.25}},
    In{.shape = {1}, .dtype = kI32, .values = {1}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values =
    {0.125, -0.25}}, In::absent(), In{.shape = {2, 1, 1, 2}, .dtype = kF32, .values =
    {-0.4863360172249623, -0.2740615889607664, 0, 0}}, In{.shape = {2, 1, 1, 2}, .dtype = kF32,
    .values = {-0.375, -0.625, -0.125, -0.125}}, In{.shape = {1, 1, 2}, .dtype = kF32, .values =
    {-0.375, 0.75}}}, Attrs{.direction = Direction::reverse, .cell = RecurrenceCell::rnn_tanh},
    {Expect{{2, 1, 1, 2}, {-0.572607959, 0.115611281, 0, 0}}, Expect{{2, 1, 1, 2}, {-0.572607959,
    0.115611281, 0, 0}}, Expect{{2, 1, 1, 2}, {0.125, -0.25, 0, 0}}, Expect{{1, 1, 2},
    {-0.115611281, -0.171373754}}, Expect{{1, 1, 0}, {}}});
  s.expect(source, {In{.shape = {2, 1, 1}, .dtype = kF32, .values = {-0.125, -0.5}}, In{.shape = {2,
    2, 1}, .dtype = kF32, .values = {0, -0.625, -1, 0.5}}, In{.shape = {2, 2, 2}, .dtype = kF32,
    .values = {0.25, 0.375, 0.625, -0.375, 0.875, -0.375, 0.25, 0}}, In::absent(), In::absent(),
    In::absent(), In::absent(), In{.shape = {2, 2, 1, 2}, .dtype = kF32, .values = {0, 0.078125,
    0.5625, 0.0625, 0.029296875, 0.283203125, 0.5, -0}}, In{.shape = {2, 2, 1, 2}, .dtype = kF32,
    .values = {0.25, 0.75, -0.75, 0.375, 0, -1, 0.625, 0.25}}, In{.shape = {2, 1, 2}, .dtype = kF32,
    .values = {0.375, 1, 0.25, -0.125}}}, Attrs{.direction = Direction::bidirectional, .cell =
    RecurrenceCell::rnn_relu}, {Expect{{2, 2, 1, 2}, {0, 0.890625, -0.5, 0.25, 0.375, 0, 0.25, 0}},
    Expect{{2, 2, 1, 2}, {0, 0.890625, -0.5, 0.25, 0.375, 0, 0.25, 0}}, Expect{{2, 2, 1, 2}, {0, 0,
    0.5, -0, 0, 0.078125, 0, 0}}, Expect{{2, 1, 2}, {0.556640625, -0.333984375, 0.21875, -0.09375}},
    Expect{{2, 1, 0}, {}}}).grad = false;
  // clang-format on
  // golden:end
}

std::vector<In> inputs_of(Cell cell, int64_t steps, int64_t batch, int64_t in, int64_t hidden,
                          Direction direction, bool optional) {
  const int64_t d = n_directions(direction), rows = n_gates(cell) * hidden;
  const bool is_lstm = cell == Cell::lstm;
  const In state{.shape = {d, batch, hidden}};
  std::vector<In> all{In{.shape = {steps, batch, in}},
                      In{.shape = {d, rows, in}, .domain = {-0.5, 0.5}},
                      In{.shape = {d, rows, hidden}, .domain = {-0.5, 0.5}}};
  all.push_back(optional ? In{.shape = {d, 2 * rows}, .domain = {-0.5, 0.5}} : In::absent());
  all.push_back(optional
                    ? In{.shape = {batch}, .dtype = kI32, .domain = {0, static_cast<double>(steps)}}
                    : In::absent());
  all.push_back(optional ? state : In::absent());
  all.push_back(optional && is_lstm ? state : In::absent());
  all.push_back(In{.shape = {steps, d, batch, hidden}, .domain = {-0.9, 0.9}});
  all.push_back(In{.shape = {steps, d, batch, hidden}});
  all.push_back(state);
  if (is_lstm) all.push_back(state);
  return all;
}

}  // namespace

void RecurrenceGrad::samples(Samples& s) {
  for (const Cell cell :
       {Cell::lstm, Cell::gru, Cell::gru_reset_before, Cell::rnn_tanh, Cell::rnn_relu}) {
    const auto add = [&](int64_t steps, int64_t batch, int64_t in, int64_t hidden,
                         Direction direction, bool optional) -> Sample& {
      Sample& sample = s.add(inputs_of(cell, steps, batch, in, hidden, direction, optional),
                             Attrs{direction, cell, direction == Direction::reverse});
      sample.length = in + hidden, sample.grad = cell != Cell::rnn_relu;
      return sample;
    };
    add(3, 3, 2, 4, Direction::forward, true);
    add(4, 2, 3, 5, Direction::reverse, true);
    add(2, 1, 3, 19, Direction::bidirectional, false);
    add(0, 2, 3, 4, Direction::forward, true);
    add(5, 4, 9, 40, Direction::bidirectional, true).grad = false;
    // Lengths beyond the last step.
    Sample& longer = add(2, 3, 2, 3, Direction::bidirectional, true);
    longer.inputs[kLengths] = In{.shape = {3}, .dtype = kI32, .values = {5, 0, 2}};
  }
  const auto bad = [&](Cell cell, size_t input, In with, const char* message) {
    std::vector<In> in = inputs_of(cell, 3, 2, 3, 4, Direction::forward, true);
    in.resize(std::max(in.size(), input + 1));
    in[input] = std::move(with);
    s.bad(std::move(in), Attrs{.cell = cell}, message);
  };
  bad(Cell::lstm, kW, In{.shape = {1, 16, 2}}, "input sizes of x and w");
  bad(Cell::gru, kY, In{.shape = {3, 1, 2, 5}}, "sizes of y");
  bad(Cell::lstm, kDH, In{.shape = {1, 3, 4}}, "sizes of d_h");
  bad(Cell::rnn_tanh, kDC, In{.shape = {1, 2, 4}}, "only lstm has cells");
  bad(Cell::lstm, kDC, In::absent(), "lstm wants d_c");
  add_literal_samples(s);
}

}  // namespace lamella
