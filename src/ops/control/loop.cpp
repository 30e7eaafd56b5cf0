// Type, meaning and samples of loop.
#include "lamella/ops/control/loop.h"

#include "lamella/ir/rewrite.h"
#include "lamella/ops/control/gradient.h"

namespace lamella {

void Loop::type(TypeCx& cx, const Attrs& a) {
  if (cx.has(0)) {
    cx.require_rank(0, 0);
    cx.require_int(0);
  }
  if (cx.has(1)) {
    cx.require_rank(1, 0);
    cx.check(cx.in(1).dtype.is_bool(), "wants a bool condition; got ", cx.in(1));
  }
  BodyRules rules(cx);
  const size_t n = cx.n_inputs() < 2 ? 0 : cx.n_inputs() - 2;
  cx.check(a.n_carried >= 0 && static_cast<size_t>(a.n_carried) <= n,
           "n_carried is not among the values; got ", a.n_carried, " of ", n);
  const size_t n_carried = static_cast<size_t>(a.n_carried);
  rules.require_body(a.body, "body", n + 1, n_carried + 1);
  const Type& iteration = a.body->type(a.body->inputs()[0]);
  cx.check(iteration.dtype == kI64 && iteration.rank() == 0,
           "the iteration is i64 of rank 0; graph 'body' takes ", iteration);
  for (size_t i = 0; i < n; ++i) rules.require_input(*a.body, i + 1, cx.in(i + 2), "body");
  rules.require_flag(*a.body, 0, "body");
  for (size_t i = 0; i < n_carried; ++i) {
    const Type &start = cx.in(i + 2), &in = a.body->type(a.body->inputs()[i + 1]);
    const Type& next = output_type(*a.body, i + 1);
    cx.check(next.is_tensor() && next.dtype == in.dtype && next.rank() == in.rank(),
             "carried value ", i, " changes its type in graph 'body'; got ", next, "; want ", in);
    Shape y;
    for (size_t d = 0; d < in.rank(); ++d) {
      const Dim from = in.shape.dims[d], to = next.shape.dims[d];
      const bool is_own_symbol = !from.is_const() && from != start.shape.dims[d];
      cx.check(is_own_symbol || compare(from, to) != Equal::no, "carried value ", i,
               " changes its size in graph 'body' at axis ", d, "; got ", to, " from ", from,
               "; want a symbol of its own for the size");
      y.dims.push_back(from == to ? start.shape.dims[d] : cx.fresh("loop"));
    }
    cx.out(start.dtype, std::move(y));
  }
  for (size_t i = n_carried + 1; i < a.body->outputs().size(); ++i) {
    const Type& t = output_type(*a.body, i);
    cx.check(t.is_tensor() && !t.dtype.is_block(), "output ", i,
             " of graph 'body' cannot be stacked; got ", t);
    Shape y = rules.seen_outside(t.shape, "loop");
    y.dims.insert(y.dims.begin(), cx.fresh("loop"));
    cx.out(t.dtype, std::move(y));
  }
}

void Loop::eval(EvalCx& cx, const Attrs& a) {
  const size_t n_carried = static_cast<size_t>(a.n_carried), n_stacked = cx.n_outputs() - n_carried;
  std::vector<RefTensor> carried, captures;
  for (size_t i = 2; i < cx.n_inputs(); ++i)
    (i < n_carried + 2 ? carried : captures).push_back(cx.in(i));
  std::vector<std::vector<RefTensor>> parts(n_stacked);
  const int64_t trips = cx.has(0) ? cx.in(0).i[0] : std::numeric_limits<int64_t>::max();
  bool goes_on = !cx.has(1) || cx.in(1).i[0] != 0;
  for (int64_t iteration = 0; goes_on && iteration < trips; ++iteration) {
    std::vector<RefTensor> args{RefTensor(kI64, {})};
    args[0].i[0] = iteration;
    for (RefTensor& v : carried) args.push_back(std::move(v));
    args.insert(args.end(), captures.begin(), captures.end());
    std::vector<RefTensor> results = cx.call(*a.body, std::move(args));
    goes_on = results[0].i[0] != 0;
    for (size_t i = 0; i < n_carried; ++i) carried[i] = std::move(results[i + 1]);
    for (size_t i = 0; i < n_stacked; ++i)
      parts[i].push_back(std::move(results[n_carried + 1 + i]));
  }
  for (size_t i = 0; i < n_carried; ++i) cx.outputs[i] = std::move(carried[i]);
  for (size_t i = 0; i < n_stacked; ++i)
    cx.outputs[n_carried + i] = stack(cx, cx.out_type(n_carried + i), parts[i]);
}

// Runs forward once more to stack the iterations and the carried values that each step saw, then
// back as a scan.
void Loop::vjp(VjpCx& cx, const Attrs& a) {
  const size_t n_carried = static_cast<size_t>(a.n_carried);
  for (size_t i = 0; i < n_carried; ++i)
    CHECK_USER(cx.in(i + 2).shape() == cx.out(i).shape(),
               "loop: there is no gradient where a carried size changes; got ", cx.in(i + 2).type(),
               " to ", cx.out(i).type());
  Graph saving = cx.graph().sub_graph("saving");
  Values inputs, values;
  for (size_t i = 0; i < a.body->inputs().size(); ++i)
    inputs.push_back(saving.input("x" + std::to_string(i), a.body->type(a.body->inputs()[i])));
  for (size_t i = 0; i < cx.n_inputs(); ++i) values.push_back(cx.in(i));
  const Values results = append_graph(saving, *a.body, inputs);
  for (size_t i = 0; i <= n_carried; ++i) saving.output("y" + std::to_string(i), results[i]);
  for (size_t i = 0; i <= n_carried; ++i) saving.output("saved" + std::to_string(i), inputs[i]);
  const Values seen = loop(values, {std::make_shared<Graph>(std::move(saving)), a.n_carried});
  Steps steps{*a.body, {}, {}, {}, {}, 1, false};
  for (size_t i = 0; i < inputs.size(); ++i) {
    steps.roles.push_back(i == 0 ? Role::entry : i <= n_carried ? Role::carried : Role::capture);
    steps.node_inputs.push_back(i + 1);
    steps.values.push_back(i <= n_carried ? seen[n_carried + i] : cx.in(i + 1));
  }
  steps.output_grads.push_back({});
  for (size_t o = 0; o < cx.n_outputs(); ++o) steps.output_grads.push_back(cx.grad(o));
  const Values grads = steps_gradient(cx, steps);
  for (size_t i = 1; i < grads.size(); ++i)
    if (!grads[i].absent()) cx.set(i + 1, grads[i]);
}

namespace {

// Doubles x while it stays below the limit; stacks the values before doubling.
GraphPtr doubling() {
  Graph g("doubling");
  g.input("iteration", Type(kI64, {}));
  const Value x = g.input("x", Type(kF32, {})), limit = g.input("limit", Type(kF32, {}));
  const Value twice = x * 2.0;
  g.output("goes_on", less(twice, limit));
  g.output("x", twice);
  g.output("before", x);
  return std::make_shared<Graph>(std::move(g));
}

// Appends the iteration to a vector, whose size is a symbol of the body.
GraphPtr growing() {
  Graph g("growing");
  const Value iteration = g.input("iteration", Type(kI64, {}));
  const Value x = g.input("x", Type(kI64, {g.symbol("length")}));
  g.output("goes_on", g.scalar(kBool, 1));
  g.output("x", concat(x, unsqueeze(iteration, {.axes = {0}}), {.axis = 0}));
  return std::make_shared<Graph>(std::move(g));
}

}  // namespace

void Loop::samples(Samples& s) {
  const auto trips = [](double n) { return In{.shape = {}, .dtype = kI64, .values = {n}}; };
  const auto flag = [](double v) { return In{.shape = {}, .dtype = kBool, .values = {v}}; };
  const auto number = [](double v) { return In{.shape = {}, .dtype = kF32, .values = {v}}; };
  const Attrs a{doubling(), 1};
  s.expect("arithmetic", {trips(9), flag(1), number(1.5), number(10)}, a,
           {Expect{{}, {12}}, Expect{{3}, {1.5, 3, 6}}});
  s.expect("arithmetic", {trips(2), In::absent(), number(1), number(100)}, a,
           {Expect{{}, {4}}, Expect{{2}, {1, 2}}});
  s.expect("arithmetic", {In::absent(), In::absent(), number(1), number(3)}, a,
           {Expect{{}, {4}}, Expect{{2}, {1, 2}}});
  s.expect("arithmetic", {trips(5), flag(0), number(7), number(100)}, a,
           {Expect{{}, {7}}, Expect{{0}, {}}});
  s.add({trips(3), flag(1), In{.shape = {}, .dtype = kF32}, number(100)}, a);
  s.bad({trips(1), flag(1), number(1)}, a, "takes 3 inputs; want 2");
  s.bad({trips(1), flag(1), number(1), number(1)}, Attrs{doubling(), 3}, "not among the values");
  s.bad({trips(1), flag(1), number(1), number(1)}, Attrs{{}, 1}, "has no graph 'body'");
  s.bad({trips(1), number(1), number(1), number(1)}, a, "bool condition");
  s.bad({trips(1), flag(1), In{.shape = {}, .dtype = kF64}, number(1)}, a, "takes another type");
  s.bad({trips(1), flag(1), In{.shape = {1}, .dtype = kI64}}, Attrs{growing(), 1},
        "symbols of its own");
}

}  // namespace lamella
