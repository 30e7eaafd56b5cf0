// Building a plan: rows, then views and buffers, then segments.
#include "lamella/backends/planned/plan.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"

namespace lamella::planned {
namespace {

void collect_symbols(Dim dim, std::set<uint32_t>& out) {
  if (dim.is_const()) return;
  const DimExpr& e = *dim.expr();
  if (e.kind == DimKind::symbol) out.insert(e.symbol);
  for (const DimTerm& t : e.terms)
    for (const DimExpr* f : t.factors) collect_symbols(Dim(*f), out);
  for (Dim d : e.args) collect_symbols(d, out);
}

class Builder {
 public:
  Builder(Plan& plan, std::span<const Row> rows, const CompileOptions& options,
          std::set<uint32_t> outer)
      : plan_(plan), g_(plan.graph), rows_(rows), options_(options), bound_(std::move(outer)) {}

  void build() {
    find_bound_symbols();
    number_results();
    find_needed();
    find_readers();
    choose_rows();
    for (uint32_t i = 0; i < g_.nodes().size(); ++i) add_node(i);
    finish_outputs();
    set_lifetimes();
    list_given();
    make_segments(plan_);
  }

 private:
  uint32_t n_nodes() const { return static_cast<uint32_t>(g_.nodes().size()); }

  // A node's inputs that a step reads. A view reads the sizes of its other inputs at compile time.
  size_t n_read(const Node& n) const { return view_rule(g_, n) ? 1 : n.inputs.size(); }

  // Its value is small and made of sizes: written by a step of its own, whatever computed it.
  bool is_known(const Node& n) const {
    return !n.is(op<Constant>) && !n.op->has(kStructural) &&
           std::all_of(n.known.begin(), n.known.end(), [](auto& k) { return k != nullptr; });
  }

  void find_needed() {
    needed_.assign(n_nodes(), false);
    auto want = [&](ValueId id) {
      if (!id.absent()) needed_[id.node] = true;
    };
    for (const NamedValue& o : g_.outputs()) want(o.id);
    for (const StateSlot& s : g_.states()) want(s.out);
    for (uint32_t i = n_nodes(); i-- > 0;) {
      const Node& n = g_.nodes()[i];
      if (n.op->has(kOrdered)) needed_[i] = true;
      if (!needed_[i] || is_known(n)) continue;
      for (size_t k = 0; k < n_read(n); ++k) want(n.inputs[k]);
    }
  }

  void find_readers() {
    readers_.resize(n_nodes());
    for (uint32_t i = 0; i < n_nodes(); ++i) {
      const Node& n = g_.nodes()[i];
      if (!needed_[i] || is_known(n)) continue;
      for (size_t k = 0; k < n_read(n); ++k)
        if (!n.inputs[k].absent()) readers_[n.inputs[k].node].push_back(i);
    }
    outputs_of_.resize(n_nodes());
    for (uint32_t i = 0; i < g_.outputs().size(); ++i)
      outputs_of_[g_.outputs()[i].id.node].push_back(g_.outputs()[i].id.out);
    for (const StateSlot& s : g_.states()) outputs_of_[s.out.node].push_back(s.out.out);
  }

  void choose_rows() {
    row_of_.assign(n_nodes(), nullptr);
    why_.resize(n_nodes());
    for (uint32_t i = 0; i < n_nodes(); ++i) {
      const Node& n = g_.nodes()[i];
      if (!needed_[i] || n.op->has(kStructural) || is_known(n) || is_control(n)) continue;
      if (view_rule(g_, n)) continue;
      row_of_[i] = choose_row(rows_, g_, n, plan_.device.get(), options_.force_row, &why_[i]);
      CHECK_USER(row_of_[i] || options_.allow_fallback, plan_.backend, ": no kernel runs ",
                 g_.describe(i), "; got ", input_types(n), "; ",
                 why_[i].empty() ? "no row has this op" : why_[i],
                 "; hint: allow fallback to the reference");
    }
  }

  std::string input_types(const Node& n) const {
    std::string out;
    for (ValueId id : n.inputs)
      out += (out.empty() ? "" : ", ") + (id.absent() ? "_" : g_.type(id).text());
    return out;
  }

  // --- values

  uint32_t new_value(uint32_t node, uint32_t out, Home home, uint32_t index = 0) {
    const Type& t = g_.nodes()[node].outputs[out];
    ValuePlan v;
    v.home = home;
    v.index = index;
    v.node = node;
    v.out = out;
    v.rank = static_cast<uint32_t>(t.rank());
    v.sizes = plan_.n_sizes;
    v.dtype = t.dtype;
    plan_.n_sizes += v.rank;
    plan_.values.push_back(v);
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }

  uint32_t value(ValueId id) const { return id.absent() ? kNone : plan_.value_of[id.node][id.out]; }

  uint32_t root(uint32_t v) const {
    while (plan_.values[v].home == Home::alias) v = plan_.values[v].base;
    return v;
  }

  bool is_wanted_output(uint32_t node, uint32_t out) const {
    const auto& o = outputs_of_[node];
    return std::find(o.begin(), o.end(), out) != o.end();
  }

  // The last node that reads this value, directly or through views; `but` is not counted.
  uint32_t last_read(ValueId id, uint32_t but) const {
    uint32_t last = 0;
    for (uint32_t r : readers_[id.node]) {
      const Node& n = g_.nodes()[r];
      const bool reads = std::find(n.inputs.begin(), n.inputs.end(), id) != n.inputs.end();
      if (!reads || r == but) continue;
      last = std::max(last, r);
      if (!view_rule(g_, n)) continue;
      for (uint32_t o = 0; o < n.outputs.size(); ++o) last = std::max(last, last_read({r, o}, but));
    }
    if (is_wanted_output(id.node, id.out)) last = n_nodes();
    return last;
  }

  static uint64_t key(ValueId id) { return uint64_t{id.node} << 32 | id.out; }

  // Which output or next state a value is (the first of several), and which input, parameter or
  // state a node declares.
  void number_results() {
    for (uint32_t i = 0; i < g_.outputs().size(); ++i)
      result_of_.emplace(key(g_.outputs()[i].id), std::pair(Home::output, i));
    for (uint32_t i = 0; i < g_.states().size(); ++i)
      result_of_.emplace(key(g_.states()[i].out), std::pair(Home::next_state, i));
    position_.resize(n_nodes());
    for (const std::vector<ValueId>* ids : {&g_.inputs(), &g_.parameters()})
      for (uint32_t i = 0; i < ids->size(); ++i) position_[(*ids)[i].node] = i;
    for (uint32_t i = 0; i < g_.states().size(); ++i) position_[g_.states()[i].in.node] = i;
  }

  // Where a step's output goes: straight to the caller's tensor or the next state where possible.
  uint32_t new_result(uint32_t node, uint32_t out) {
    const auto found = result_of_.find(key({node, out}));
    if (found == result_of_.end()) return new_buffer(node, out);
    return new_value(node, out, found->second.first, found->second.second);
  }

  uint32_t new_buffer(uint32_t node, uint32_t out) {
    const uint32_t v =
        new_value(node, out, Home::arena, static_cast<uint32_t>(plan_.buffers.size()));
    plan_.buffers.push_back({.value = v, .first = 0, .last = 0, .segment = 0});
    return v;
  }

  // --- nodes to steps

  void add_node(uint32_t i) {
    const Node& n = g_.nodes()[i];
    plan_.value_of.emplace_back(n.outputs.size(), kNone);
    if (n.op->has(kStructural) && !n.is(op<Sizes>)) return add_structural(i, n);
    if (!needed_[i]) return;
    if (n.is(op<Sizes>) || is_known(n)) return add_sizes(i, n);
    if (const ViewRule* rule = view_rule(g_, n)) return add_view(i, n, *rule);
    add_step(i, n);
  }

  void add_structural(uint32_t i, const Node& n) {
    Home home = Home::constant;
    if (n.is(op<Parameter>)) home = Home::parameter;
    if (n.is(op<Input>))
      home = n.attrs.as<Input::Attrs>().role == InputRole::state ? Home::state : Home::input;
    plan_.value_of[i][0] = new_value(i, 0, home, position_[i]);
  }

  void add_sizes(uint32_t i, const Node& n) {
    Step step;
    step.kind = StepKind::sizes;
    step.node = i;
    for (uint32_t o = 0; o < n.outputs.size(); ++o) {
      plan_.value_of[i][o] = new_result(i, o);
      step.operands.push_back(plan_.value_of[i][o]);
    }
    plan_.steps.push_back(std::move(step));
  }

  bool all_readers_take_strides(uint32_t i, uint32_t out) const {
    for (const StateSlot& s : g_.states())
      if (s.out == ValueId{i, out}) return false;
    for (uint32_t r : readers_[i]) {
      const Node& n = g_.nodes()[r];
      for (size_t k = 0; k < n_read(n); ++k) {
        if (n.inputs[k] != ValueId{i, out}) continue;
        if (const ViewRule* rule = view_rule(g_, n)) {
          if (!rule->apply) return false;
        } else if (!row_of_[r] || !(row_of_[r]->strided_inputs >> std::min<size_t>(k, 31) & 1)) {
          return false;
        }
      }
    }
    return true;
  }

  void add_view(uint32_t i, const Node& n, const ViewRule& rule) {
    const uint32_t base = value(n.inputs[0]);
    const bool base_dense = plan_.values[base].contiguous;
    for (uint32_t o = 0; o < n.outputs.size(); ++o) {
      if (!rule.apply && !base_dense) {
        copy_to_dense(i, o, base);
        continue;
      }
      const uint32_t v = new_value(i, o, Home::alias);
      plan_.values[v].base = base;
      plan_.values[v].view = rule.apply ? &rule : nullptr;
      plan_.values[v].contiguous = base_dense && rule.keeps_dense(g_, n, o);
      plan_.value_of[i][o] = v;
      if (!plan_.values[v].contiguous && !all_readers_take_strides(i, o)) copy_to_dense(i, o, v);
    }
  }

  void copy_to_dense(uint32_t i, uint32_t o, uint32_t from) {
    const uint32_t to = new_result(i, o);
    Step step;
    step.kind = StepKind::copy;
    step.node = i;
    step.operands = {from, to};
    plan_.steps.push_back(std::move(step));
    plan_.value_of[i][o] = to;
  }

  void add_step(uint32_t i, const Node& n) {
    Step step;
    step.node = i;
    step.row = row_of_[i];
    step.why = why_[i];
    for (ValueId id : n.inputs) step.operands.push_back(value(id));
    if (is_control(n)) {
      step.kind = StepKind::control;
      for (const GraphPtr& body : n.attrs.graphs())
        step.bodies.push_back(
            Plan::make(*body, plan_.backend, rows_, plan_.device, options_, bound_));
    } else if (step.row) {
      if (step.row->prepare) step.prepared = step.row->prepare(g_, n, plan_.device.get());
    } else {
      step.kind = StepKind::reference;
      step.meaning = std::make_shared<const Graph>(alone(n));
    }
    const bool dynamic = binds_symbols(i, n);
    step.binds = dynamic;
    for (uint32_t o = 0; o < n.outputs.size(); ++o) {
      uint32_t v = kNone;
      if (dynamic)
        v = new_value(i, o, Home::dynamic, plan_.n_dynamic++);
      else if (o == 0)
        v = updated_in_place(i, n, step);
      if (v == kNone) v = new_result(i, o);
      plan_.value_of[i][o] = v;
      step.operands.push_back(v);
    }
    plan_.steps.push_back(std::move(step));
  }

  // Output 0 as an alias of the input it is an updated copy of, or of one that dies here; kNone
  // where a buffer of its own is needed.
  uint32_t updated_in_place(uint32_t i, const Node& n, Step& step) {
    if (!n.op->info.updates.empty()) {
      const uint32_t u = updated_input(*n.op);
      step.copied = why_copied(i, n.inputs[u], step.row);
      if (step.copied.empty()) return alias_of(i, value(n.inputs[u]));
      step.pre_copy = u;
      return kNone;
    }
    if (!step.row || !step.row->in_place_inputs) return kNone;
    const Type& out = n.outputs[0];
    for (uint32_t k = 0; k < n.inputs.size(); ++k) {
      if (!(step.row->in_place_inputs >> k & 1) || n.inputs[k].absent()) continue;
      const uint32_t from = value(n.inputs[k]);
      const ValuePlan& v = plan_.values[from];
      const bool same = v.dtype == out.dtype && g_.type(n.inputs[k]).shape == out.shape;
      if (!same || v.home != Home::arena || last_read(n.inputs[k], i) > i || reads_twice(n, k))
        continue;
      if (is_wanted_output(i, 0)) continue;
      return alias_of(i, from);
    }
    return kNone;
  }

  // Why node i cannot update the value in place; empty when it can. The old value must not be read
  // any more, neither as it is nor through another view of it.
  std::string why_copied(uint32_t i, ValueId updated, const Row* row) const {
    const uint32_t from = value(updated), r = root(from);
    const Home home = plan_.values[r].home;
    if (home != Home::state && home != Home::arena && home != Home::dynamic)
      return "its bytes are not the run's own";
    if (home == Home::state && !(row && row->appends))
      return "a failed run must leave the state as it was";
    if (!plan_.values[from].contiguous) return "it is not dense";
    ValueId base = updated;
    while (view_rule(g_, g_.node(base))) base = g_.node(base).inputs[0];
    const uint32_t last = last_read(base, i);
    if (last == n_nodes()) return "the old value is a result of the run";
    return last < i ? "" : "read later by " + g_.describe(last);
  }

  static bool reads_twice(const Node& n, uint32_t k) {
    return std::count(n.inputs.begin(), n.inputs.end(), n.inputs[k]) > 1;
  }

  uint32_t alias_of(uint32_t i, uint32_t base) {
    const uint32_t v = new_value(i, 0, Home::alias);
    plan_.values[v].base = base;
    return v;
  }

  static uint32_t updated_input(const Op& op) {
    for (uint32_t k = 0; k < op.inputs.size; ++k)
      if (op.inputs.names[k] == op.info.updates) return k;
    throw InternalError(str(op.info.name, ": 'updates' names no input"));
  }

  // The node as a graph of its own, for the reference.
  Graph alone(const Node& n) const {
    Graph graph(std::string(n.op->info.name), g_.dims());
    std::vector<Value> inputs;
    for (ValueId id : n.inputs)
      inputs.push_back(id.absent() ? Value{}
                                   : graph.input("x" + std::to_string(inputs.size()), g_.type(id)));
    const auto out = graph.add(*n.op, inputs, n.attrs, n.n_saved > 0);
    for (size_t o = 0; o < out.size(); ++o) graph.output("y" + std::to_string(o), out[o]);
    return graph;
  }

  // --- sizes

  void find_bound_symbols() {
    for (const Node& n : g_.nodes())
      if (n.op->has(kStructural))
        for (const Type& t : n.outputs)
          for (Dim d : t.shape) collect_symbols(d, bound_);
  }

  // Whether sizes of the node's outputs become known when it has run.
  bool binds_symbols(uint32_t i, const Node& n) {
    std::set<uint32_t> used, fresh;
    for (const Type& t : n.outputs)
      for (Dim d : t.shape) collect_symbols(d, used);
    for (Dim d : n.fresh) collect_symbols(d, fresh);
    const size_t before = bound_.size();
    for (uint32_t symbol : used)
      if (bound_.insert(symbol).second)
        CHECK_USER(fresh.count(symbol), g_.describe(i), ": a size depends on the symbol '",
                   g_.dims()->symbols()[symbol]->name,
                   "', which no input, parameter or state binds");
    return bound_.size() > before;
  }

  void finish_outputs() {
    for (uint32_t i = 0; i < g_.outputs().size(); ++i) {
      const uint32_t v = value(g_.outputs()[i].id);
      if (plan_.values[v].home == Home::output && plan_.values[v].index == i) continue;
      plan_.output_copies.emplace_back(i, v);
    }
    for (uint32_t s = 0; s < g_.states().size(); ++s) {
      const uint32_t v = value(g_.states()[s].out), in = value(g_.states()[s].in);
      plan_.next_states.push_back(root(v) == in && plan_.values[v].contiguous ? kNone : v);
    }
  }

  void list_given() {
    auto add = [&](ValueId id) {
      const bool is_static = g_.type(id).shape.is_static();
      if (!is_static) plan_.symbolic_given.push_back(static_cast<uint32_t>(plan_.given.size()));
      plan_.given.push_back({id, value(id), is_static});
    };
    for (ValueId id : g_.inputs()) add(id);
    for (const StateSlot& s : g_.states()) add(s.in);
    for (ValueId id : g_.parameters()) add(id);
  }

  void set_lifetimes() {
    const uint32_t end = static_cast<uint32_t>(plan_.steps.size());
    auto touch = [&](uint32_t v, uint32_t step, bool defines) {
      if (v == kNone) return;
      const ValuePlan& r = plan_.values[root(v)];
      if (r.home != Home::arena) return;
      BufferPlan& b = plan_.buffers[r.index];
      if (defines && b.last == 0 && b.first == 0) b.first = step + 1;
      b.last = std::max(b.last, step + 1);
    };
    for (uint32_t s = 0; s < end; ++s) {
      const Step& step = plan_.steps[s];
      const size_t n_in = n_step_inputs(step);
      for (size_t k = 0; k < step.operands.size(); ++k) touch(step.operands[k], s, k >= n_in);
    }
    for (auto [output, v] : plan_.output_copies) touch(v, end, false);
    for (uint32_t v : plan_.next_states) touch(v, end, false);
  }

  size_t n_step_inputs(const Step& step) const {
    if (step.kind == StepKind::sizes) return 0;
    if (step.kind == StepKind::copy) return 1;
    return g_.nodes()[step.node].inputs.size();
  }

  Plan& plan_;
  const Graph& g_;
  std::span<const Row> rows_;
  const CompileOptions& options_;
  std::vector<bool> needed_;
  std::vector<std::vector<uint32_t>> readers_, outputs_of_;
  std::vector<const Row*> row_of_;
  std::vector<std::string> why_;
  std::set<uint32_t> bound_;
  std::unordered_map<uint64_t, std::pair<Home, uint32_t>> result_of_;
  std::vector<uint32_t> position_;
};

}  // namespace

const Row* choose_row(std::span<const Row> rows, const Graph& graph, const Node& node,
                      const void* device, std::string_view force, std::string* why) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.op != node.op) continue;
    const bool accepts = !row.accepts || row.accepts(graph, node, device);
    if (!accepts && why)
      *why += (why->empty() ? "" : ", ") + std::string(row.name) + " does not take it";
    if (!accepts) continue;
    const bool is_forced = !force.empty() && row.name.find(force) != std::string_view::npos;
    if (is_forced) return &row;
    if (!best) best = &row;
    if (force.empty()) break;
  }
  return best;
}

std::shared_ptr<const Plan> Plan::make(Graph graph, std::string_view backend,
                                       std::span<const Row> rows,
                                       std::shared_ptr<const void> device,
                                       const CompileOptions& options,
                                       std::set<uint32_t> outer_symbols) {
  auto plan = std::make_shared<Plan>();
  plan->graph = std::move(graph);
  plan->backend = backend;
  plan->device = std::move(device);
  for (const Row& row : rows)
    if (!row.op) plan->copy_row = &row;
  CHECK_INTERNAL(plan->copy_row, backend, ": the table has no copy");
  Builder(*plan, rows, options, std::move(outer_symbols)).build();
  return plan;
}

}  // namespace lamella::planned
