// Walks the nodes in order; expands a composite into a scratch graph and evaluates that.
#include "lamella/ops/evaluate.h"

#include <algorithm>

#include "lamella/base/error.h"

namespace lamella {
namespace {

bool is_bound(Dim dim, const DimBinding& binding) {
  if (dim.is_const()) return true;
  const DimExpr& e = *dim.expr();
  if (e.kind == DimKind::symbol) return e.symbol < binding.size() && binding[e.symbol].has_value();
  for (const DimTerm& t : e.terms)
    for (const DimExpr* f : t.factors)
      if (!is_bound(Dim(*f), binding)) return false;
  return std::all_of(e.args.begin(), e.args.end(), [&](Dim d) { return is_bound(d, binding); });
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, DimBinding binding, const CancelFlag* cancel)
      : graph_(graph), binding_(std::move(binding)), cancel_(cancel) {
    values_.resize(graph.nodes().size());
    uses_.resize(graph.nodes().size(), 0);
    for (const Node& n : graph.nodes())
      for (ValueId id : n.inputs)
        if (!id.absent()) ++uses_[id.node];
    for (const NamedValue& o : graph.outputs()) ++uses_[o.id.node];
    for (const StateSlot& s : graph.states()) ++uses_[s.out.node];
  }

  void give(ValueId id, RefTensor tensor) {
    bind_shape(graph_.type(id), tensor.shape, binding_, "input '" + graph_.input_name(id) + "'");
    values_[id.node] = {std::move(tensor)};
  }

  void run() {
    pending_ = graph_.constraints();
    check_pending();
    check_cancelled(cancel_);
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      check_cancelled(cancel_);
      const Node& n = graph_.nodes()[i];
      if (values_[i].empty()) values_[i] = evaluate(i, n);
      for (ValueId id : n.inputs)
        if (!id.absent() && --uses_[id.node] == 0) values_[id.node].clear();
    }
  }

  const RefTensor& value(ValueId id) const { return values_[id.node][id.out]; }
  const DimBinding& binding() const { return binding_; }

 private:
  void check_pending() {
    std::erase_if(pending_,
                  [&](const Constraint& c) { return check_constraint(graph_, c, binding_); });
  }

  std::vector<RefTensor> evaluate(uint32_t index, const Node& n) {
    if (n.is(op<Constant>)) return {RefTensor::from(n.attrs.as<Constant::Attrs>().value)};
    if (n.is(op<Sizes>)) {
      RefTensor t(kI64, {static_cast<int64_t>(n.attrs.as<Sizes::Attrs>().values.rank())});
      size_t i = 0;
      for (Dim d : n.attrs.as<Sizes::Attrs>().values) t.i[i++] = lamella::evaluate(d, binding_);
      return {std::move(t)};
    }
    CHECK_USER(!n.op->has(kStructural), "reference: '", graph_.input_name({index, 0}),
               "' was not given");
    std::vector<RefTensor> out = n.op->is_composite() ? expand(n) : primitive(n);
    for (size_t i = 0; i < out.size(); ++i) {
      bind_shape(n.outputs[i], out[i].shape, binding_, graph_.describe(index));
      out[i].dtype = n.outputs[i].dtype;
      if (!out[i].holds_floats())
        for (int64_t& v : out[i].i) v = wrap_int(out[i].dtype, v);
    }
    if (!pending_.empty()) check_pending();
    return out;
  }

  std::vector<RefTensor> primitive(const Node& n) {
    CHECK_INTERNAL(n.op->eval, n.op->info.name, ": has neither eval nor expand");
    std::vector<const RefTensor*> inputs;
    for (ValueId id : n.inputs) inputs.push_back(id.absent() ? nullptr : &value(id));
    EvalCx cx(n, std::move(inputs), binding_, [this](const Graph& g, std::vector<RefTensor> args) {
      return evaluate_body(g, std::move(args), binding_, cancel_);
    });
    n.op->eval(cx, n.attrs.data());
    return std::move(cx.outputs);
  }

  std::vector<RefTensor> expand(const Node& n) {
    Graph scratch(std::string(n.op->info.name), graph_.dims());
    std::vector<Value> inputs;
    std::vector<RefTensor> given;
    for (ValueId id : n.inputs) {
      if (id.absent()) {
        inputs.push_back({});
        continue;
      }
      inputs.push_back(scratch.input("x" + std::to_string(inputs.size()), graph_.type(id)));
      given.push_back(value(id));
    }
    const Values out = n.op->expand(Args(scratch, inputs), n.attrs.data());
    for (size_t i = 0; i < out.size(); ++i) scratch.output("y" + std::to_string(i), out[i]);
    try {
      return evaluate_body(scratch, std::move(given), binding_, cancel_);
    } catch (const Cancelled&) {
      throw;
    } catch (const UserError& e) {
      // The ops of the formula say what is wrong; the user wrote this one.
      throw UserError(str(n.op->info.name, ": ", e.what()));
    }
  }

  const Graph& graph_;
  DimBinding binding_;
  std::vector<std::vector<RefTensor>> values_;
  std::vector<uint32_t> uses_;
  std::vector<Constraint> pending_;
  const CancelFlag* cancel_;
};

}  // namespace

void bind_shape(const Type& type, const std::vector<int64_t>& shape, DimBinding& binding,
                const std::string& what) {
  CHECK_USER(type.rank() == shape.size(), what, ": wrong rank; got ", shape.size(), "; want ",
             type);
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim d = type.shape.dims[i];
    if (!d.is_const() && d.expr()->kind == DimKind::symbol) {
      const DimExpr& e = *d.expr();
      if (binding.size() <= e.symbol) binding.resize(e.symbol + 1);
      if (!binding[e.symbol]) {
        CHECK_USER(shape[i] >= e.range.low && shape[i] <= e.range.high && shape[i] % e.divisor == 0,
                   what, ": size of '", e.name, "' out of bounds; got ", shape[i], "; want [",
                   e.range.low, ", ", e.range.high, "] in steps of ", e.divisor);
        binding[e.symbol] = shape[i];
      }
    }
    if (!is_bound(d, binding)) continue;
    const int64_t want = evaluate(d, binding);
    CHECK_USER(shape[i] == want, what, ": wrong size at axis ", i, "; got ", shape[i], "; want ", d,
               d.is_const() ? "" : str(" = ", want));
  }
}

bool check_constraint(const Graph& graph, const Constraint& c, const DimBinding& binding) {
  if (!is_bound(c.a, binding) || !is_bound(c.b, binding)) return false;
  const int64_t a = evaluate(c.a, binding), b = evaluate(c.b, binding);
  bool holds = a == b;
  if (c.kind == Constraint::Kind::broadcast) holds = holds || a == 1 || b == 1;
  if (c.kind == Constraint::Kind::at_least) holds = a >= b;
  CHECK_USER(holds, graph.describe(c.node), ": ", c.what, "; got ", c.a, " = ", a, " and ", c.b,
             " = ", b);
  return true;
}

RefResult evaluate_graph(const Graph& graph, const RefTensors& inputs, const CancelFlag* cancel) {
  Evaluator evaluator(graph, {}, cancel);
  auto give = [&](ValueId id, std::string_view kind) {
    auto it = inputs.find(graph.input_name(id));
    CHECK_USER(it != inputs.end(), "run: ", kind, " '", graph.input_name(id),
               "' was not given; want ", graph.type(id));
    CHECK_USER(it->second.dtype == graph.type(id).dtype, "run: ", kind, " '", graph.input_name(id),
               "' has the wrong element type; got ", it->second.dtype, "; want ", graph.type(id));
    evaluator.give(id, it->second);
  };
  for (ValueId id : graph.inputs()) give(id, "input");
  for (ValueId id : graph.parameters()) give(id, "parameter");
  for (const StateSlot& s : graph.states()) give(s.in, "state");
  evaluator.run();
  RefResult result;
  for (const NamedValue& o : graph.outputs()) result.outputs.push_back(evaluator.value(o.id));
  for (const StateSlot& s : graph.states()) result.states[s.name] = evaluator.value(s.out);
  result.binding = evaluator.binding();
  return result;
}

std::vector<RefTensor> evaluate_body(const Graph& graph, std::vector<RefTensor> inputs,
                                     const DimBinding& outer, const CancelFlag* cancel) {
  CHECK_USER(inputs.size() == graph.inputs().size(), "graph '", graph.name(), "': got ",
             inputs.size(), " inputs; want ", graph.inputs().size());
  Evaluator evaluator(graph, outer, cancel);
  for (size_t i = 0; i < inputs.size(); ++i)
    evaluator.give(graph.inputs()[i], std::move(inputs[i]));
  evaluator.run();
  std::vector<RefTensor> out;
  for (const NamedValue& o : graph.outputs()) out.push_back(evaluator.value(o.id));
  return out;
}

}  // namespace lamella
