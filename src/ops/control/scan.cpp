// Type, meaning and samples of scan.
#include "lamella/ops/control/scan.h"

#include <algorithm>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/control/gradient.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"

namespace lamella {
namespace {

// Entry `at` along the first axis.
RefTensor entry(const RefTensor& x, int64_t at) {
  RefTensor y(x.dtype, std::vector<int64_t>(x.shape.begin() + 1, x.shape.end()));
  const int64_t n = y.numel();
  if (x.holds_floats())
    std::copy_n(x.f.begin() + at * n, n, y.f.begin());
  else if (x.dtype.is_string())
    std::copy_n(x.s.begin() + at * n, n, y.s.begin());
  else
    std::copy_n(x.i.begin() + at * n, n, y.i.begin());
  return y;
}

}  // namespace

void Scan::type(TypeCx& cx, const Attrs& a) {
  BodyRules rules(cx);
  const size_t n = cx.n_inputs();
  cx.check(a.n_carried >= 0 && a.n_scanned >= 1 && a.n_carried <= static_cast<int64_t>(n) &&
               a.n_scanned <= static_cast<int64_t>(n) - a.n_carried,
           "wants n_carried and at least one n_scanned among the values; got ", a.n_carried,
           " and ", a.n_scanned, " of ", n);
  const size_t n_carried = static_cast<size_t>(a.n_carried),
               n_outer = n_carried + static_cast<size_t>(a.n_scanned);
  rules.require_body(a.body, "body", n, n_carried);
  Dim length;
  for (size_t i = 0; i < n; ++i) {
    Type outer = cx.in(i);
    if (i >= n_carried && i < n_outer) {
      cx.check(
          outer.is_tensor() && outer.rank() > 0 && !(outer.dtype.is_block() && outer.rank() == 1),
          "a scanned value has a first axis to cut; got ", outer);
      if (i == n_carried) length = outer.shape[0];
      cx.require_equal(outer.shape[0], length, "lengths of scanned values");
      outer.shape.dims.erase(outer.shape.dims.begin());
    }
    rules.require_input(*a.body, i, outer, "body");
  }
  for (size_t i = 0; i < n_carried; ++i) {
    const Type &in = a.body->type(a.body->inputs()[i]), &next = output_type(*a.body, i);
    cx.check(next.is_tensor() && next.dtype == in.dtype && next.rank() == in.rank(),
             "carried value ", i, " changes its type in graph 'body'; got ", next, "; want ", in);
    for (size_t d = 0; d < in.rank(); ++d)
      cx.check(compare(in.shape.dims[d], next.shape.dims[d]) != Equal::no, "carried value ", i,
               " changes its size in graph 'body'; got ", next, "; want ", in);
    cx.out(in.dtype, cx.shape(i));
  }
  for (size_t i = n_carried; i < a.body->outputs().size(); ++i) {
    const Type& t = output_type(*a.body, i);
    cx.check(t.is_tensor() && !t.dtype.is_block(), "output ", i,
             " of graph 'body' cannot be stacked; got ", t);
    Shape y = rules.seen_outside(t.shape, "scan");
    y.dims.insert(y.dims.begin(), length);
    cx.out(t.dtype, std::move(y));
  }
}

void Scan::eval(EvalCx& cx, const Attrs& a) {
  const size_t n_carried = static_cast<size_t>(a.n_carried),
               n_outer = n_carried + static_cast<size_t>(a.n_scanned);
  const size_t n_stacked = cx.n_outputs() - n_carried;
  const int64_t length = cx.shape(n_carried)[0];
  std::vector<RefTensor> carried;
  for (size_t i = 0; i < n_carried; ++i) carried.push_back(cx.in(i));
  std::vector<std::vector<RefTensor>> parts(n_stacked);
  for (int64_t step = 0; step < length; ++step) {
    std::vector<RefTensor> args = std::move(carried);
    for (size_t i = n_carried; i < n_outer; ++i)
      args.push_back(entry(cx.in(i), a.reverse ? length - 1 - step : step));
    for (size_t i = n_outer; i < cx.n_inputs(); ++i) args.push_back(cx.in(i));
    std::vector<RefTensor> results = cx.call(*a.body, std::move(args));
    for (size_t i = 0; i < n_stacked; ++i) parts[i].push_back(std::move(results[n_carried + i]));
    results.resize(n_carried);
    carried = std::move(results);
  }
  for (size_t i = 0; i < n_carried; ++i) cx.outputs[i] = std::move(carried[i]);
  for (size_t i = 0; i < n_stacked; ++i) {
    if (a.reverse) std::reverse(parts[i].begin(), parts[i].end());
    cx.outputs[n_carried + i] = stack(cx, cx.out_type(n_carried + i), parts[i]);
  }
}

// Runs forward once more to stack the carried values that each step saw, then back.
void Scan::vjp(VjpCx& cx, const Attrs& a) {
  const size_t n_carried = static_cast<size_t>(a.n_carried),
               n_outer = n_carried + static_cast<size_t>(a.n_scanned);
  Graph saving = cx.graph().sub_graph("saving");
  Values inputs, values;
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    inputs.push_back(saving.input("x" + std::to_string(i), a.body->type(a.body->inputs()[i])));
    values.push_back(cx.in(i));
  }
  const Values results = append_graph(saving, *a.body, inputs);
  for (size_t i = 0; i < 2 * n_carried; ++i)
    saving.output("y" + std::to_string(i), i < n_carried ? results[i] : inputs[i - n_carried]);
  const Values seen = scan(
      values, {std::make_shared<Graph>(std::move(saving)), a.n_carried, a.n_scanned, a.reverse});
  Steps steps{*a.body, {}, {}, {}, {}, 0, a.reverse};
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    steps.roles.push_back(i < n_carried ? Role::carried
                          : i < n_outer ? Role::entry
                                        : Role::capture);
    steps.node_inputs.push_back(i);
    steps.values.push_back(i < n_carried ? seen[n_carried + i] : cx.in(i));
  }
  for (size_t o = 0; o < cx.n_outputs(); ++o) steps.output_grads.push_back(cx.grad(o));
  const Values grads = steps_gradient(cx, steps);
  for (size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].absent()) cx.set(i, grads[i]);
}

namespace {

// h = h * decay + x; gives h and its double, over rows of 3.
GraphPtr decaying(bool is_curved = false) {
  Graph g("decaying");
  const Value h = g.input("h", Type(kF32, {3})), x = g.input("x", Type(kF32, {3}));
  const Value decay = g.input("decay", Type(kF32, {}));
  const Value next = is_curved ? tanh(h * decay + x) : h * decay + x;
  g.output("h", next);
  g.output("twice", next * 2.0);
  return std::make_shared<Graph>(std::move(g));
}

}  // namespace

void Scan::samples(Samples& s) {
  const auto row = [](std::vector<double> v) {
    return In{.shape = {3}, .dtype = kF32, .values = std::move(v)};
  };
  const In x{.shape = {2, 3}, .dtype = kF32, .values = {1, 2, 3, 4, 5, 6}};
  const In decay{.shape = {}, .dtype = kF32, .values = {0.5}};
  s.expect("arithmetic", {row({2, 0, -2}), x, decay}, Attrs{decaying(), 1, 1, false},
           {Expect{{3}, {5, 6, 7}}, Expect{{2, 3}, {4, 4, 4, 10, 12, 14}}});
  s.expect("arithmetic", {row({2, 0, -2}), x, decay}, Attrs{decaying(), 1, 1, true},
           {Expect{{3}, {3.5, 4.5, 5.5}}, Expect{{2, 3}, {7, 9, 11, 10, 10, 10}}});
  s.expect("arithmetic", {row({2, 0, -2}), In{.shape = {0, 3}, .dtype = kF32}, decay},
           Attrs{decaying(), 1, 1, false}, {Expect{{3}, {2, 0, -2}}, Expect{{0, 3}, {}}});
  for (bool reverse : {false, true})
    s.add({In{.shape = {3}, .dtype = kF32}, In{.shape = {7, 3}, .dtype = kF32},
           In{.shape = {}, .dtype = kF32}},
          Attrs{decaying(true), 1, 1, reverse})
        .length = 7;
  s.bad({row({1, 2, 3}), x}, Attrs{decaying(), 1, 1, false}, "takes 3 inputs; want 2");
  s.bad({row({1, 2, 3}), x, decay}, Attrs{decaying(), 3, 1, false}, "at least one n_scanned");
  s.bad({row({1, 2, 3}), decay, decay}, Attrs{decaying(), 1, 1, false}, "first axis to cut");
  s.bad({row({1, 2, 3}), In{.shape = {2, 4}, .dtype = kF32}, decay}, Attrs{decaying(), 1, 1, false},
        "sizes of input 1");
  s.bad({row({1, 2, 3}), x, decay}, Attrs{{}, 1, 1, false}, "has no graph 'body'");
}

}  // namespace lamella
