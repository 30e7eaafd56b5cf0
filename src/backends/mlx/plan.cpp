#include "lamella/backends/mlx/plan.h"

#include <algorithm>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/mlx/array.h"
#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/plan.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella::on_mlx {
namespace {

constexpr std::string_view kPrimitive = "primitive ";

std::string primitive_name(const planned::Row& row) {
  return std::string(kPrimitive) + std::string(row.name);
}

bool is_carried_as_bytes(const Graph& g, const Node& n) {
  return !mlx_dtype(g.type(n.inputs[0]).dtype);
}

// Output sizes name symbols that the node itself binds.
bool is_view(const Graph& g, const Node& n) { return planned::view_rule(g, n) != nullptr; }

Choice primitive_choice(const Graph& g, const Node& n, const Device& device,
                        std::string_view force) {
  Choice c;
  if (force.substr(0, kPrimitive.size()) == kPrimitive) force.remove_prefix(kPrimitive.size());
  c.row = planned::choose_row(cpu::kernel_rows(), g, n, &device.cpu, force, &c.why);
  return c;
}

Choice core_choice(const Graph& g, const Node& n, const Device& device, std::string_view force) {
  Choice c;
  c.core = find_core_row(g, n, device.core_target(), force);
  if (c.core) c.way = Way::core;
  return c;
}

class Builder {
 public:
  Builder(Plan& plan, const CompileOptions& options, std::set<uint32_t> outer)
      : plan_(plan), g_(plan.graph), options_(options), bound_(std::move(outer)) {}

  void build() {
    number_values();
    find_bound_symbols();
    find_needed();
    for (uint32_t i = 0; i < n_nodes(); ++i) add_node(i);
    alias_views();
    join_packs();
    find_dead();
    if (plan_.device->on_gpu()) find_rounded();
    find_regions();
  }

 private:
  uint32_t n_nodes() const { return static_cast<uint32_t>(g_.nodes().size()); }
  size_t n_read(const Node& n) const { return is_view(g_, n) ? 1 : n.inputs.size(); }
  bool is_known(const Node& n) const {
    return !n.is(op<Constant>) && !n.op->has(kStructural) &&
           std::all_of(n.known.begin(), n.known.end(), [](auto& k) { return k != nullptr; });
  }
  bool is_sizes(const Node& n) const { return n.is(op<Sizes>) || is_known(n); }

  void number_values() {
    for (uint32_t i = 0; i < n_nodes(); ++i) {
      plan_.first_value.push_back(plan_.n_values);
      for (uint32_t o = 0; o < g_.nodes()[i].outputs.size(); ++o) plan_.ids.push_back({i, o});
      plan_.n_values = static_cast<uint32_t>(plan_.ids.size());
    }
    plan_.is_dynamic.assign(plan_.n_values, false);
  }

  void find_bound_symbols() {
    SymbolsUsed used;
    for (const Node& n : g_.nodes())
      if (n.op->has(kStructural))
        for (const Type& t : n.outputs)
          for (Dim d : t.shape) used.add(d);
    for (const DimExpr* s : used.symbols()) bound_.insert(s->symbol);
  }

  bool names_unbound_symbols(const Type& type) const {
    SymbolsUsed used;
    for (Dim d : type.shape) used.add(d);
    return std::any_of(used.symbols().begin(), used.symbols().end(),
                       [&](const DimExpr* s) { return !bound_.count(s->symbol); });
  }

  void find_needed() {
    needed_.assign(n_nodes(), false);
    for (const NamedValue& o : g_.outputs()) needed_[o.id.node] = true;
    for (const StateSlot& s : g_.states()) needed_[s.out.node] = true;
    for (uint32_t i = n_nodes(); i-- > 0;) {
      const Node& n = g_.nodes()[i];
      if (n.op->has(kOrdered)) needed_[i] = true;
      if (!needed_[i] || is_sizes(n)) continue;
      for (size_t k = 0; k < n_read(n); ++k)
        if (!n.inputs[k].absent()) needed_[n.inputs[k].node] = true;
    }
  }

  void add_node(uint32_t i) {
    const Node& n = g_.nodes()[i];
    if (!needed_[i] || (n.op->has(kStructural) && !n.is(op<Sizes>))) return;
    Step step;
    step.node = i;
    bool binds = false;
    for (uint32_t o = 0; o < n.outputs.size(); ++o)
      if (names_unbound_symbols(n.outputs[o])) plan_.is_dynamic[plan_.value({i, o})] = true;
    for (const Type& t : n.outputs) binds = binds_symbols(t) || binds;
    if (is_sizes(n))
      step.way = Way::sizes;
    else if (planned::is_control(n))
      add_bodies(step, n);
    else
      choose_way(step, i, n, binds);
    plan_.steps.push_back(std::move(step));
  }

  // The node binds a symbol of this type that nothing before it has.
  bool binds_symbols(const Type& type) {
    SymbolsUsed used;
    for (Dim d : type.shape) used.add(d);
    bool found = false;
    for (const DimExpr* s : used.symbols())
      if (!bound_.count(s->symbol)) found = fresh_.insert(s->symbol).second || found;
    return found;
  }

  void add_bodies(Step& step, const Node& n) {
    step.way = Way::control;
    std::set<uint32_t> symbols = bound_;
    symbols.insert(fresh_.begin(), fresh_.end());
    for (const GraphPtr& body : n.attrs.graphs())
      step.bodies.push_back(Plan::make(*body, plan_.device, options_, symbols));
  }

  void choose_way(Step& step, uint32_t i, const Node& n, bool binds) {
    Choice c = choose(g_, n, *plan_.device, options_.force_row);
    // Sizes that only the data decide: the CPU's row finds them, wherever the others run.
    if (!c && plan_.device->on_gpu() && binds)
      c = primitive_choice(g_, n, *plan_.device, options_.force_row);
    step.why = c.why;
    CHECK_USER(c || options_.allow_fallback, "mlx: no kernel runs ", g_.describe(i),
               plan_.device->on_gpu() ? " on a GPU" : "", "; got ", input_types(n), "; ",
               c.why.empty() ? "no row has this op at these types" : c.why,
               "; hint: allow fallback to the reference",
               plan_.device->on_gpu() ? ", or use the CPU device" : "");
    step.way = c ? c.way : Way::reference;
    plan_.has_core = plan_.has_core || step.way == Way::core;
    step.row = c.row;
    step.core = c.core;
    if (step.way == Way::reference) step.meaning = std::make_shared<const Graph>(alone(n));
    if (step.way == Way::core && plan_.device->on_gpu() && !n.op->info.updates.empty())
      set_updates(step, n, step.core->needs & kAppends);
    if (step.way != Way::primitive) return;
    if (binds) step.way = Way::host;
    if (step.row->prepare) step.prepared = step.row->prepare(g_, n, &plan_.device->cpu);
    if (!n.op->info.updates.empty()) set_updates(step, n, step.row->appends);
  }

  void set_updates(Step& step, const Node& n, bool appends) {
    for (uint32_t k = 0; k < n.op->inputs.size; ++k)
      if (n.op->inputs.names[k] == n.op->info.updates) step.updates = k;
    const ValueId from = n.inputs[step.updates];
    if (!is_state(from)) return;
    if (!appends)
      step.copied = "a failed run must leave the state as it was";
    else if (n_readers(from) > 1)
      step.copied = "another node reads the old value";
    step.in_place = step.copied.empty();
  }

  bool is_state(ValueId id) const {
    return g_.node(id).is(op<Input>) &&
           g_.node(id).attrs.as<Input::Attrs>().role == InputRole::state;
  }

  size_t n_readers(ValueId id) const {
    size_t n_found = 0;
    for (uint32_t i = 0; i < n_nodes(); ++i)
      if (needed_[i])
        n_found += static_cast<size_t>(
            std::count(g_.nodes()[i].inputs.begin(), g_.nodes()[i].inputs.end(), id));
    for (const NamedValue& o : g_.outputs()) n_found += o.id == id;
    return n_found;
  }

  std::string input_types(const Node& n) const {
    std::string out;
    for (ValueId id : n.inputs)
      out += (out.empty() ? "" : ", ") + (id.absent() ? "_" : g_.type(id).text());
    return out;
  }

  // The node as a graph of its own, for the reference.
  Graph alone(const Node& n) const {
    Graph graph(std::string(n.op->info.name), g_.dims());
    std::vector<Value> inputs;
    for (ValueId id : n.inputs)
      inputs.push_back(id.absent() ? Value{}
                                   : graph.input("x" + std::to_string(inputs.size()), g_.type(id)));
    const auto out = graph.add(*n.op, inputs, n.attrs, n.n_saved > 0, n.fresh);
    for (size_t o = 0; o < out.size(); ++o) graph.output("y" + std::to_string(o), out[o]);
    return graph;
  }

  // A pack runs in the primitive that makes what it packs, and so stands right behind it.
  void join_packs() {
    std::vector<uint32_t> step_of(n_nodes(), kNone), pack_of(plan_.steps.size(), kNone);
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) step_of[plan_.steps[s].node] = s;
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      Step& step = plan_.steps[s];
      const Node& n = g_.nodes()[step.node];
      if (!n.is(op<Pack>) || step.way != Way::primitive) continue;
      ValueId from = n.inputs[0];
      uint32_t maker = step_of[from.node];
      while (maker != kNone && plan_.steps[maker].way == Way::bytes) {
        from = g_.nodes()[from.node].inputs[0];
        maker = step_of[from.node];
      }
      if (maker == kNone || pack_of[maker] != kNone) continue;
      if (plan_.steps[maker].way != Way::primitive || plan_.steps[maker].updates != kNone) continue;
      pack_of[maker] = s;
      step.way = Way::joined;
      plan_.steps[maker].packed = from.out;
    }
    std::vector<Step> ordered;
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].way == Way::joined) continue;
      ordered.push_back(std::move(plan_.steps[s]));
      if (pack_of[s] != kNone) ordered.push_back(std::move(plan_.steps[pack_of[s]]));
    }
    plan_.steps = std::move(ordered);
  }

  // A reshape of what lies densely needs no array of its own where nothing but rows reads it: these
  // are told the sizes.
  void alias_views() {
    std::vector<bool> is_dense(plan_.n_values, true), is_seen(plan_.n_values, false);
    for (const Step& step : plan_.steps)
      if (step.way == Way::core)
        for (ValueId id : g_.nodes()[step.node].inputs)
          if (!id.absent()) is_seen[plan_.value(id)] = true;
    for (Step& step : plan_.steps) {
      const Node& n = g_.nodes()[step.node];
      const uint32_t first = plan_.value({step.node, 0});
      if (step.way != Way::view) {
        for (uint32_t o = 0; o < n.outputs.size(); ++o) is_dense[first + o] = step.way != Way::core;
        continue;
      }
      const planned::ViewRule* rule = planned::view_rule(g_, n);
      const bool from_dense = is_dense[plan_.value(n.inputs[0])];
      if (!rule->apply && from_dense && !is_seen[first]) step.way = Way::bytes;
      for (uint32_t o = 0; o < n.outputs.size(); ++o)
        is_dense[first + o] = from_dense && rule->keeps_dense(g_, n, o);
    }
  }

  // Values are let go behind the last step that reads them, so that MLX may write where they lay.
  void find_dead() {
    std::vector<uint32_t> last(plan_.n_values, kNone);
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const Node& n = g_.nodes()[plan_.steps[s].node];
      for (uint32_t o = 0; o < n.outputs.size(); ++o)
        last[plan_.value({plan_.steps[s].node, o})] = s;
      if (!reads(plan_.steps[s].way)) continue;
      for (size_t k = 0; k < n_read(n); ++k)
        if (!n.inputs[k].absent()) last[plan_.value(n.inputs[k])] = s;
    }
    for (const NamedValue& o : g_.outputs()) last[plan_.value(o.id)] = kNone;
    for (const StateSlot& s : g_.states()) last[plan_.value(s.out)] = kNone;
    for (uint32_t v = 0; v < plan_.n_values; ++v)
      if (last[v] != kNone && !g_.nodes()[plan_.ids[v].node].op->has(kStructural))
        plan_.steps[last[v]].dead.push_back(v);
  }

  // Values that nothing reads but what rounds them to bf16 first, through reshapes too.
  void find_rounded() {
    std::vector<bool> is_rounded(plan_.n_values, true), is_read(plan_.n_values, false);
    for (const NamedValue& o : g_.outputs()) is_rounded[plan_.value(o.id)] = false;
    for (const StateSlot& s : g_.states()) is_rounded[plan_.value(s.out)] = false;
    for (size_t s = plan_.steps.size(); s-- > 0;) {
      Step& step = plan_.steps[s];
      const Node& n = g_.nodes()[step.node];
      for (uint32_t o = 0; o < n.outputs.size(); ++o) {
        const uint32_t v = plan_.value({step.node, o});
        step.rounded.push_back(is_rounded[v] && is_read[v] && n.outputs[o].dtype == kF32);
      }
      const bool passes = step.way == Way::core && n.is(op<Reshape>) && step.rounded[0];
      for (size_t k = 0; reads(step.way) && k < n_read(n); ++k) {
        if (n.inputs[k].absent()) continue;
        const uint32_t v = plan_.value(n.inputs[k]);
        is_read[v] = true;
        const bool rounds = step.way == Way::core && reads_rounded(n, k);
        if (!rounds && !(passes && k == 0)) is_rounded[v] = false;
      }
    }
  }

  // Cut where a step needs values; and so that no region is long, since MLX's compiler recurses.
  void find_regions() {
    constexpr uint32_t kMostSteps = 128;
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const bool is_cut = needs_values(plan_.steps[s].way);
      const bool is_long = !plan_.regions.empty() && plan_.steps[s].way != Way::joined &&
                           s - plan_.regions.back().first >= kMostSteps;
      const bool goes_on =
          !plan_.regions.empty() && !plan_.regions.back().is_cut && !is_cut && !is_long;
      if (!goes_on) plan_.regions.push_back({s, s, is_cut, {}, {}});
      plan_.regions.back().end = s + 1;
    }
    std::vector<uint32_t> last(plan_.n_values, 0);  // one behind the last step that reads it
    for (uint32_t s = 0; s < plan_.steps.size(); ++s)
      for (uint32_t v : plan_.steps[s].dead) last[v] = s + 1;
    for (Region& r : plan_.regions) list_values(r, last);
  }

  static bool reads(Way way) { return way != Way::sizes && way != Way::joined; }

  static bool needs_values(Way way) {
    return way == Way::host || way == Way::control || way == Way::reference;
  }

  void list_values(Region& r, const std::vector<uint32_t>& last) {
    std::set<uint32_t> made, read;
    for (uint32_t s = r.first; s < r.end; ++s) {
      const Step& step = plan_.steps[s];
      const Node& n = g_.nodes()[step.node];
      for (size_t k = 0; reads(step.way) && k < n_read(n); ++k)
        if (!n.inputs[k].absent() && !made.count(plan_.value(n.inputs[k])))
          read.insert(plan_.value(n.inputs[k]));
      for (uint32_t o = 0; o < n.outputs.size(); ++o) {
        const uint32_t v = plan_.value({step.node, o});
        made.insert(v);
        // Read behind the region, or a result, or written for its effect.
        if (last[v] == 0 || last[v] > r.end || (step.in_place && o == 0)) r.outputs.push_back(v);
      }
    }
    r.inputs.assign(read.begin(), read.end());
  }

  Plan& plan_;
  const Graph& g_;
  const CompileOptions& options_;
  std::vector<bool> needed_;
  std::set<uint32_t> bound_, fresh_;
};

}  // namespace

Choice choose(const Graph& g, const Node& n, const Device& device, std::string_view force) {
  const bool prefers_core = device.lowering == MlxLowering::gpu;
  const Choice core = core_choice(g, n, device, force);
  if (core && core.core->name == force) return core;
  if (is_view(g, n)) {
    Choice view;
    view.way = is_carried_as_bytes(g, n) ? Way::bytes : Way::view;
    if (device.on_gpu()) return core || view.way == Way::view ? core : view;
    return core && prefers_core ? core : view;
  }
  if (device.on_gpu()) return core;
  const Choice primitive = primitive_choice(g, n, device, force);
  if (primitive && primitive_name(*primitive.row) == force) return primitive;
  // A formula's steps have rows of the CPU, where MLX's own functions have no vector code.
  if (core && !primitive && !prefers_core && n.op->is_composite()) return Choice{};
  if (core) return prefers_core || !primitive ? core : primitive;
  // A formula over mlx::core's ops, unless MLX cannot hold what it is over.
  const auto is_bytes = [&](ValueId id) {
    if (id.absent() || mlx_dtype(g.type(id).dtype)) return false;
    return !mlx_form(g.type(id).dtype) || device.mode == MlxMode::compiled;
  };
  const bool expands = prefers_core && n.op->is_composite() &&
                       std::none_of(n.inputs.begin(), n.inputs.end(), is_bytes);
  return expands ? Choice{} : primitive;
}

std::vector<std::string> row_names(const Op& op, const Device& device) {
  std::vector<std::string> core, primitive;
  for (const CoreRow& row : core_rows())
    if (row.op == &op && (device.on_gpu() || !(row.needs & kKernel))) core.emplace_back(row.name);
  if (device.on_gpu()) return core;
  for (const planned::Row& row : cpu::kernel_rows())
    if (row.op == &op) primitive.push_back(primitive_name(row));
  auto& first = device.lowering == MlxLowering::gpu ? core : primitive;
  auto& second = &first == &core ? primitive : core;
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string name_of(const Step& step) {
  switch (step.way) {
    case Way::sizes:
      return "sizes";
    case Way::core:
      return std::string(step.core->name);
    case Way::view:
    case Way::bytes:
      return "view";
    case Way::primitive:
      return primitive_name(*step.row);
    case Way::joined:
      return "joined " + std::string(step.row->name);
    case Way::host:
      return "host " + std::string(step.row->name);
    case Way::control:
      return "control";
    case Way::reference:
      return "reference";
  }
  return "";
}

int64_t Plan::peak_bytes(const DimBinding& binding) const {
  // 0 for views and for what shares its input's memory, and where only data decide the size.
  const auto bytes_of = [&](uint32_t v) -> int64_t {
    const ValueId id = ids[v];
    const Type& type = graph.type(id);
    const Node& node = graph.nodes()[id.node];
    if (is_dynamic[v] || !type.is_tensor() || type.dtype.is_string() ||
        planned::view_rule(graph, node) || !node.op->info.updates.empty())
      return 0;
    return evaluate(type.bytes(), binding);
  };
  int64_t live = 0, most = 0;
  for (const Step& step : steps) {
    for (uint32_t o = 0; o < graph.nodes()[step.node].outputs.size(); ++o)
      live += bytes_of(value({step.node, o}));
    most = std::max(most, live);
    for (uint32_t v : step.dead) live -= bytes_of(v);
  }
  return most;
}

void Plan::cross(uint32_t value, std::span<const int64_t> shape) const {
  if (!crossed) return;
  ++device->counters->crossings;
  ++crossed[value].n;
  const DType dtype = graph.type(ids[value]).dtype;
  crossed[value].bytes += static_cast<int64_t>(tensor_bytes(dtype, shape));
}

std::shared_ptr<const Plan> Plan::make(Graph graph, std::shared_ptr<const Device> device,
                                       const CompileOptions& options,
                                       std::set<uint32_t> outer_symbols) {
  auto plan = std::make_shared<Plan>();
  plan->graph = std::move(graph);
  plan->device = std::move(device);
  Builder(*plan, options, std::move(outer_symbols)).build();
  if (!plan->device->on_gpu()) return plan;
  plan->crossed = std::make_unique<Crossed[]>(plan->n_values);
  Counters& counters = *plan->device->counters;
  std::lock_guard lock(counters.mutex);
  std::erase_if(counters.plans, [](const auto& p) { return p.expired(); });
  counters.plans.push_back(plan);
  return plan;
}

}  // namespace lamella::on_mlx
