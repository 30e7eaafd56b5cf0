// Copies the graph forward, saving what the rules ask for, then walks it backwards and adds up
// gradients.
#include "lamella/autodiff/grad.h"

#include <algorithm>
#include <set>

#include "lamella/base/error.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/math/add.h"
#include "lamella/ops/op.h"
#include "lamella/ops/reduce/sum_to.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {
namespace {

bool is_differentiable(const Type& t) { return t.is_tensor() && t.dtype.is_float(); }

// Composites without a rule become their formulas, which have rules.
Graph expand_without_rule(const Graph& graph) {
  Graph g = graph;
  for (bool again = true; again;) {
    again = false;
    g = rewrite(g, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (!n.op->is_composite() || n.op->vjp) return std::nullopt;
      again = true;
      return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
    });
  }
  return g;
}

class Reverse {
 public:
  Reverse(const Graph& graph, const GradOptions& options)
      : from_(graph), options_(options), r_(graph) {}

  Graph run() {
    find_path();
    for (uint32_t i = 0; i < from_.nodes().size(); ++i) copy_forward(i);
    seed();
    for (uint32_t i = static_cast<uint32_t>(from_.nodes().size()); i-- > 0;)
      if (on_path_[i] && !from_.nodes()[i].op->has(kStructural)) step(i);
    const std::vector<Value> results = gradients();
    Graph out = r_.finish();
    for (size_t i = 0; i < results.size(); ++i)
      out.output("grad." + wrt_names_[i], {&out, results[i].id});
    return out;
  }

 private:
  // Nodes through which a wanted input reaches a wanted output.
  void find_path() {
    const size_t n = from_.nodes().size();
    std::vector<bool> from_wrt(n), to_output(n);
    for (ValueId id : wanted_inputs()) from_wrt[id.node] = true;
    for (const NamedValue& o : wanted_outputs()) to_output[o.id.node] = true;
    for (size_t i = 0; i < n; ++i)
      for (ValueId id : from_.nodes()[i].inputs)
        if (!id.absent() && from_wrt[id.node] && !from_.nodes()[i].op->has(kNoGrad))
          from_wrt[i] = true;
    for (size_t i = n; i-- > 0;)
      for (ValueId id : from_.nodes()[i].inputs)
        if (!id.absent() && to_output[i]) to_output[id.node] = true;
    on_path_.resize(n);
    for (size_t i = 0; i < n; ++i) on_path_[i] = from_wrt[i] && to_output[i];
    grads_.resize(n);
  }

  std::vector<ValueId> wanted_inputs() {
    std::vector<ValueId> ids;
    auto consider = [&](ValueId id, bool is_parameter) {
      const std::string& name = from_.input_name(id);
      const bool named =
          std::find(options_.wrt.begin(), options_.wrt.end(), name) != options_.wrt.end();
      const bool all = options_.wrt.empty() && is_parameter && is_differentiable(from_.type(id));
      if (!named && !all) return;
      CHECK_USER(is_differentiable(from_.type(id)), "grad: '", name,
                 "' is not floating-point; got ", from_.type(id));
      ids.push_back(id);
      wrt_names_.push_back(name);
    };
    wrt_names_.clear();
    for (ValueId id : from_.inputs()) consider(id, false);
    for (const StateSlot& s : from_.states()) consider(s.in, false);
    for (ValueId id : from_.parameters()) consider(id, true);
    for (const std::string& name : options_.wrt)
      CHECK_USER(std::find(wrt_names_.begin(), wrt_names_.end(), name) != wrt_names_.end(),
                 "grad: no input or parameter '", name, "'");
    wrt_ = ids;
    return ids;
  }

  std::vector<NamedValue> wanted_outputs() const {
    std::vector<NamedValue> out;
    for (const NamedValue& o : from_.outputs()) {
      const bool named = std::find(options_.outputs.begin(), options_.outputs.end(), o.name) !=
                         options_.outputs.end();
      if (named || (options_.outputs.empty() && out.empty())) out.push_back(o);
    }
    CHECK_USER(out.size() == std::max<size_t>(options_.outputs.size(), 1),
               "grad: an output to differentiate is not there");
    for (const NamedValue& o : out)
      CHECK_USER(is_differentiable(from_.type(o.id)), "grad: output '", o.name,
                 "' is not floating-point; got ", from_.type(o.id));
    return out;
  }

  void copy_forward(uint32_t i) {
    const Node& n = from_.nodes()[i];
    if (!on_path_[i] || n.op->saved.size == 0 || n.n_saved > 0) {
      r_.copy(i);
      return;
    }
    const auto scope = r_.to().origin(n.origin);
    r_.set(i, r_.to().add(*n.op, r_.map(n.inputs), n.attrs, true, n.fresh));
  }

  void seed() {
    for (const NamedValue& o : wanted_outputs()) {
      const Type& type = from_.type(o.id);
      const Value one = type.rank() == 0 && !options_.seed_scalars
                            ? r_.to().scalar(type.dtype, 1)
                            : r_.to().input("seed." + o.name, type);
      add_to(o.id, one);
    }
  }

  void add_to(ValueId id, Value gradient) {
    auto& slots = grads_[id.node];
    slots.resize(std::max<size_t>(slots.size(), id.out + 1));
    slots[id.out] = slots[id.out].absent() ? gradient : add(slots[id.out], gradient);
  }

  void step(uint32_t i) {
    const Node& n = from_.nodes()[i];
    std::vector<Value>& incoming = grads_[i];
    if (std::all_of(incoming.begin(), incoming.end(), [](const Value& v) { return v.absent(); }))
      return;
    CHECK_USER(n.op->vjp, "grad: ", from_.describe(i), " has no gradient");
    const auto scope = r_.to().origin(n.origin);
    incoming.resize(n.outputs.size());
    Values outputs;
    const uint32_t n_out = static_cast<uint32_t>(n.outputs.size());
    for (uint32_t o = 0; o < n_out; ++o) outputs.push_back(r_.map({i, o}));
    // Saved outputs follow the node's own in the copy.
    const Node& copy = r_.to().nodes()[outputs[0].id.node];
    for (uint32_t o = n_out; o < copy.outputs.size(); ++o)
      outputs.push_back({&r_.to(), {outputs[0].id.node, o}});
    const Node copied = copy;  // the rule appends nodes, which moves them
    VjpCx cx(r_.to(), copied, r_.map(n.inputs), outputs, incoming, body_gradient);
    n.op->vjp(cx, n.attrs.data());
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const Value g = cx.results()[k];
      if (g.absent() || n.inputs[k].absent() || !on_path_[n.inputs[k].node]) continue;
      add_to(n.inputs[k], reduced(g, from_.type(n.inputs[k])));
    }
  }

  // Summed over the axes along which the input was broadcast.
  static Value reduced(Value gradient, const Type& want) {
    if (gradient.shape() == want.shape) return gradient;
    return sum_to(gradient, {.shape = want.shape});
  }

  std::vector<Value> gradients() {
    std::vector<Value> out;
    for (ValueId id : wrt_) {
      auto& slots = grads_[id.node];
      if (!slots.empty() && !slots[0].absent()) {
        out.push_back(slots[0]);
        continue;
      }
      const Type& t = from_.type(id);
      const Value zero = r_.to().scalar(t.dtype, 0);
      out.push_back(t.rank() == 0 ? zero : expand(zero, r_.to().sizes(t.shape.dims)));
    }
    return out;
  }

  const Graph& from_;
  const GradOptions& options_;
  GraphRewriter r_;
  std::vector<ValueId> wrt_;
  std::vector<std::string> wrt_names_;
  std::vector<bool> on_path_;
  std::vector<std::vector<Value>> grads_;
};

}  // namespace

Graph grad(const Graph& graph, const GradOptions& options) {
  const Graph expanded = expand_without_rule(graph);
  return prune(Reverse(expanded, options).run());
}

Graph body_gradient(const Graph& body) {
  GradOptions options{.outputs = {}, .wrt = {}, .seed_scalars = true};
  Graph out = body.sub_graph("gradient");
  Values inputs;
  for (ValueId id : body.inputs()) {
    inputs.push_back(out.input(body.input_name(id), body.type(id)));
    if (is_differentiable(body.type(id))) options.wrt.push_back(body.input_name(id));
  }
  for (const NamedValue& o : body.outputs()) {
    if (!is_differentiable(body.type(o.id))) continue;
    options.outputs.push_back(o.name);
    inputs.push_back(out.input("seed." + o.name, body.type(o.id)));
  }
  if (options.wrt.empty() || options.outputs.empty()) {
    for (const std::string& name : options.wrt)
      for (const Value& v : Values(inputs))
        if (out.input_name(v.id) == name)
          out.output("grad." + name, expand(out.scalar(v.dtype(), 0), out.sizes(v.shape().dims)));
    return out;
  }
  const Graph g = grad(body, options);
  const Values results = append_graph(out, g, inputs);
  for (size_t i = results.size() - options.wrt.size(); i < results.size(); ++i)
    out.output(g.outputs()[i].name, results[i]);
  return prune(out);
}

}  // namespace lamella
