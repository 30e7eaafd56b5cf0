// Type, meaning, gradient and samples of if.
#include "lamella/ops/control/if.h"

#include "lamella/ir/rewrite.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

void If::type(TypeCx& cx, const Attrs& a) {
  cx.require_rank(0, 0);
  cx.check(cx.in(0).dtype.is_bool(), "wants a bool condition; got ", cx.in(0));
  BodyRules rules(cx);
  const size_t n = cx.n_inputs() - 1;
  rules.require_body(a.then_graph, "then_graph", n, 0);
  rules.require_body(a.else_graph, "else_graph", n, 0);
  for (size_t i = 0; i < n; ++i) {
    rules.require_input(*a.then_graph, i, cx.in(i + 1), "then_graph");
    rules.require_input(*a.else_graph, i, cx.in(i + 1), "else_graph");
  }
  cx.check(a.then_graph->outputs().size() == a.else_graph->outputs().size(),
           "the graphs give different numbers of results; got ", a.then_graph->outputs().size(),
           " and ", a.else_graph->outputs().size());
  for (size_t i = 0; i < a.then_graph->outputs().size(); ++i) {
    const Type &t = output_type(*a.then_graph, i), &e = output_type(*a.else_graph, i);
    cx.check(t.is_tensor() && e.is_tensor() && t.dtype == e.dtype && t.rank() == e.rank(),
             "the graphs give different types as result ", i, "; got ", t, " and ", e);
    Shape y;
    for (size_t d = 0; d < t.rank(); ++d) {
      const Dim dim = t.shape.dims[d];
      y.dims.push_back(dim == e.shape.dims[d] && rules.is_visible(dim) ? dim : cx.fresh("if"));
    }
    cx.out(t.dtype, std::move(y));
  }
}

void If::eval(EvalCx& cx, const Attrs& a) {
  std::vector<RefTensor> captures;
  for (size_t i = 1; i < cx.n_inputs(); ++i) captures.push_back(cx.in(i));
  cx.outputs = cx.call(cx.in(0).i[0] ? *a.then_graph : *a.else_graph, std::move(captures));
}

namespace {

// The gradient of a branch, from its captures and the gradients of the results as the surroundings
// see them: where these have sizes that the branch knows better, they are reshaped to what it gave.
GraphPtr backward(const VjpCx& cx, const Graph& branch, const Values& seeds) {
  const Graph gradient = cx.gradient_of(branch);
  Graph back = cx.graph().sub_graph("backward");
  Values inputs;
  for (ValueId id : branch.inputs())
    inputs.push_back(back.input("x" + std::to_string(inputs.size()), branch.type(id)));
  size_t next = 0;
  for (const NamedValue& o : branch.outputs()) {
    const Type& t = branch.type(o.id);
    if (!t.dtype.is_float()) continue;
    Shape outer = t.shape;
    const Shape& seen = seeds[next].shape();
    for (size_t d = 0; d < outer.rank(); ++d)
      if (outer.dims[d] != seen.dims[d]) outer.dims[d] = back.dims()->fresh("if");
    inputs.push_back(
        reshape_to(back.input("seed" + std::to_string(next++), Type(t.dtype, outer)), t.shape));
  }
  for (Value v : append_graph(back, gradient, inputs))
    back.output("y" + std::to_string(back.outputs().size()), v);
  return std::make_shared<Graph>(std::move(back));
}

}  // namespace

void If::vjp(VjpCx& cx, const Attrs& a) {
  Values values, seeds;
  for (size_t i = 0; i < cx.n_inputs(); ++i) values.push_back(cx.in(i));
  for (size_t o = 0; o < cx.n_outputs(); ++o) {
    const Type t = cx.out(o).type();
    if (!t.dtype.is_float()) continue;
    seeds.push_back(cx.has_grad(o) ? cx.grad(o) : full(cx.graph(), t.shape, t.dtype, 0));
  }
  values.insert(values.end(), seeds.begin(), seeds.end());
  const Values grads =
      if_(values, {backward(cx, *a.then_graph, seeds), backward(cx, *a.else_graph, seeds)});
  size_t next = 0;
  for (size_t i = 1; i < cx.n_inputs(); ++i)
    if (cx.in(i).dtype().is_float()) cx.set(i, grads[next++]);
}

void If::samples(Samples& s) {
  // x * 2, or the first two elements of x.
  const auto branch = [](bool is_then, DType dtype = kF32) {
    Graph g(is_then ? "then" : "else");
    const Value x = g.input("x", Type(dtype, Shape{4}));
    g.output("y", is_then ? x * 2.0 : slice_axis(x, 0, 0, 2));
    return std::make_shared<Graph>(std::move(g));
  };
  const Attrs both{branch(true), branch(false)};
  const auto flag = [](double v) { return In{.shape = {}, .dtype = kBool, .values = {v}}; };
  const In x{.shape = {4}, .dtype = kF32, .values = {1, 2, 3, 4}};
  s.expect("arithmetic", {flag(1), x}, both, {Expect{{4}, {2, 4, 6, 8}}});
  s.expect("arithmetic", {flag(0), x}, both, {Expect{{2}, {1, 2}}});
  s.expect("arithmetic", {flag(1), x}, Attrs{branch(true), branch(true)},
           {Expect{{4}, {2, 4, 6, 8}}});
  s.bad({In{.shape = {1}, .dtype = kBool}, x}, both, "wrong rank");
  s.bad({In{.shape = {}, .dtype = kF32}, x}, both, "bool condition");
  s.bad({flag(1), x}, Attrs{branch(true), {}}, "has no graph 'else_graph'");
  s.bad({flag(1)}, both, "takes 1 inputs; want 0");
  s.bad({flag(1), In{.shape = {5}, .dtype = kF32}}, both, "sizes of input 0");
  s.bad({flag(1), x}, Attrs{branch(true), branch(false, kF64)}, "takes another type");
}

}  // namespace lamella
