// Appending nodes: arity, shape rule, shape values, constraints. And the structural hash.
#include "lamella/ir/graph.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"

namespace lamella {
namespace {

void check_arity(const Op& op, std::span<const Value> inputs) {
  const NameList& names = op.inputs;
  const size_t n = inputs.size();
  CHECK_USER(n >= names.n_required() && (names.variadic || n <= names.size), op.info.name,
             ": wrong number of inputs; got ", n, "; want '", op.info.inputs, "'");
  for (size_t i = 0; i < n; ++i) {
    const bool may_be_absent = i < names.size && names.optional[i];
    CHECK_USER(may_be_absent || !inputs[i].absent(), op.info.name, ": input '",
               i < names.size ? names.names[i] : names.names[names.size - 1], "' is missing");
  }
}

}  // namespace

Values as_values(Value value) { return {value}; }
Values as_values(Values values) { return values; }

Graph::Graph(std::string name, std::shared_ptr<DimTable> dims)
    : name_(std::move(name)), dims_(dims ? std::move(dims) : std::make_shared<DimTable>()) {}

Graph::OriginScope::OriginScope(Graph& graph, std::shared_ptr<const std::string> origin)
    : graph_(graph), before_(std::exchange(graph.origin_, std::move(origin))) {}
Graph::OriginScope::~OriginScope() { graph_.origin_ = std::move(before_); }

Graph::OriginScope Graph::origin(std::string text) {
  if (origin_ && !origin_->empty()) text = *origin_ + "/" + text;
  return OriginScope(*this, std::make_shared<const std::string>(std::move(text)));
}
Graph::OriginScope Graph::origin(std::shared_ptr<const std::string> text) {
  return OriginScope(*this, std::move(text));
}

ValueId Graph::append_structural(const Op& op, AttrBox attrs) {
  return add(op, {}, std::move(attrs))[0].id;
}

std::optional<size_t> Graph::declared(char kind, std::string_view name) const {
  const auto it = names_.find(kind + std::string(name));
  return it == names_.end() ? std::nullopt : std::optional(it->second);
}

void Graph::declare(char kind, std::string_view what, const std::string& name, size_t index) {
  const bool is_new = names_.emplace(kind + name, index).second;
  CHECK_USER(is_new, "graph: ", what, " '", name, "' is declared twice");
}

Value Graph::input(std::string name, Type type) {
  declare('i', "input", name, inputs_.size());
  inputs_.push_back(append_structural(
      op<Input>, AttrBox(Input::Attrs{std::move(name), std::move(type), InputRole::input})));
  return {this, inputs_.back()};
}

Value Graph::parameter(std::string name, Type type) {
  if (const auto at = declared('p', name); at && *at < parameters_.size()) {
    const ValueId id = parameters_[*at];
    CHECK_USER(this->type(id) == type, "graph: parameter '", name, "' is declared twice; got ",
               type, " and ", this->type(id));
    return {this, id};
  }
  declare('p', "parameter", name, parameters_.size());
  parameters_.push_back(append_structural(
      op<Parameter>, AttrBox(Parameter::Attrs{std::move(name), std::move(type)})));
  return {this, parameters_.back()};
}

Value Graph::constant(Tensor tensor) {
  return {this, append_structural(op<Constant>, AttrBox(Constant::Attrs{std::move(tensor)}))};
}

Value Graph::scalar(DType dtype, double value) { return constant(Tensor::scalar(dtype, value)); }

Value Graph::sizes(ShapeValue values) {
  return {this, append_structural(op<Sizes>, AttrBox(Sizes::Attrs{Shape(std::move(values))}))};
}

Value Graph::state(std::string name, Type type) {
  declare('s', "state", name, states_.size());
  const ValueId id =
      append_structural(op<Input>, AttrBox(Input::Attrs{name, std::move(type), InputRole::state}));
  states_.push_back({std::move(name), id, id});
  return {this, id};
}

void Graph::set_state(std::string_view name, Value next) {
  const auto at = declared('s', name);
  CHECK_USER(at && *at < states_.size(), "graph: no state '", name, "'");
  CHECK_USER(next.graph == this, "graph: state '", name, "' is set to a value of another graph");
  StateSlot& slot = states_[*at];
  CHECK_USER(next.type() == type(slot.in), "graph: state '", name, "' changes its type; got ",
             next.type(), "; want ", type(slot.in));
  slot.out = next.id;
}

void Graph::output(std::string name, Value value) {
  CHECK_USER(value.graph == this, "graph: output '", name, "' is a value of another graph");
  declare('o', "output", name, outputs_.size());
  outputs_.push_back({std::move(name), value.id});
}

std::vector<Value> Graph::add(const Op& op, std::span<const Value> inputs, AttrBox attrs, bool save,
                              std::span<const Dim> fresh) {
  const uint32_t index = static_cast<uint32_t>(nodes_.size());
  CHECK_INTERNAL(&attrs.info() == op.attrs, op.info.name, ": attributes of another op");
  for (const Value& v : inputs)
    CHECK_USER(v.absent() || v.graph == this, op.info.name,
               ": an input belongs to another graph; want values of '", name_, "'");
  Node node;
  node.op = &op;
  node.origin = origin_;
  TypeCx cx(*this, index, op, inputs);
  cx.wants_saved_ = save && op.saved.size > 0;
  cx.fresh_given_ = fresh;
  run_type_rule(cx, attrs, origin_.get());
  for (const Value& v : inputs) node.inputs.push_back(v.id);
  node.attrs = std::move(attrs);
  node.outputs = std::move(cx.outputs);
  node.n_saved = cx.n_saved;
  node.fresh = std::move(cx.fresh_made);
  node.known.resize(node.outputs.size());
  for (Constraint& c : cx.constraints) {
    c.node = index;
    constraints_.push_back(std::move(c));
  }
  if (op.value) node.known = shape_values(node);
  nodes_.push_back(std::move(node));
  std::vector<Value> out;
  for (uint32_t i = 0; i < nodes_.back().outputs.size(); ++i) out.push_back({this, {index, i}});
  return out;
}

void Graph::run_type_rule(TypeCx& cx, const AttrBox& attrs, const std::string* origin) {
  const Op& op = cx.op_;
  try {
    check_arity(op, cx.inputs_);
    op.type(cx, attrs.data());
  } catch (const UserError& e) {
    if (!origin || origin->empty()) throw;
    throw UserError(str(e.what(), " (at ", *origin, ")"));
  }
  CHECK_INTERNAL(op.outputs.variadic || cx.outputs.size() == op.outputs.size + cx.n_saved,
                 op.info.name, ": the shape rule gave ", cx.outputs.size(), " outputs; want '",
                 op.info.outputs, "'");
}

std::vector<Type> Graph::derive(uint32_t node) const {
  const Node& n = nodes_[node];
  // A rule reads the graph; the node's own symbols are given back, so that it makes none.
  Graph& self = const_cast<Graph&>(*this);
  std::vector<Value> inputs;
  for (ValueId id : n.inputs) inputs.push_back(self.value(id));
  TypeCx cx(self, node, *n.op, inputs);
  cx.wants_saved_ = n.n_saved > 0;
  cx.fresh_given_ = n.fresh;
  run_type_rule(cx, n.attrs, n.origin.get());
  return std::move(cx.outputs);
}

std::vector<std::shared_ptr<const ShapeValue>> Graph::shape_values(const Node& node) const {
  std::vector<std::shared_ptr<const ShapeValue>> known;
  try {
    ValueCx values(*this, node);
    node.op->value(values, node.attrs.data());
    known = values.take();
  } catch (const UserError&) {
    // Integers that overflow as sizes (they wrap when they run) are just no sizes.
    known.clear();
  }
  known.resize(node.outputs.size());
  for (auto& k : known)
    if (k && k->size() > kMaxShapeValue) k = nullptr;
  return known;
}

const std::string& Graph::input_name(ValueId id) const {
  const Node& n = nodes_[id.node];
  if (n.is(op<Parameter>)) return n.attrs.as<Parameter::Attrs>().name;
  CHECK_INTERNAL(n.is(op<Input>), "graph: %", id.node, " is not an input");
  return n.attrs.as<Input::Attrs>().name;
}

std::string Graph::describe(uint32_t node) const {
  const Node& n = nodes_[node];
  std::string text = str(n.op->info.name, " %", node);
  if (n.origin && !n.origin->empty()) text += " (" + *n.origin + ")";
  return text;
}

uint64_t Graph::hash() const {
  uint64_t h = nodes_.size();
  for (const Node& n : nodes_) {
    h = hash_mix(h, hash_of(n.op->info.name));
    h = hash_mix(h, n.attrs.hash());
    for (ValueId id : n.inputs) h = hash_mix(h, (uint64_t{id.node} << 16) ^ id.out);
    h = hash_mix(h, n.outputs.size());
  }
  for (const NamedValue& o : outputs_) h = hash_mix(h, (uint64_t{o.id.node} << 16) ^ o.id.out);
  for (const StateSlot& s : states_) h = hash_mix(h, (uint64_t{s.out.node} << 16) ^ s.out.out);
  return h;
}

namespace {

bool same_node(const Node& x, const Node& y) {
  if (x.op != y.op || x.inputs != y.inputs || x.n_saved != y.n_saved ||
      x.outputs.size() != y.outputs.size() || !x.attrs.same_content(y.attrs))
    return false;
  for (size_t o = 0; o < x.outputs.size(); ++o)
    if (!(x.outputs[o] == y.outputs[o]) && x.outputs[o].text() != y.outputs[o].text()) return false;
  return true;
}

}  // namespace

bool same_graph(const Graph& a, const Graph& b) {
  const auto same_output = [](const NamedValue& x, const NamedValue& y) {
    return x.id == y.id && x.name == y.name;
  };
  const auto same_state = [](const StateSlot& x, const StateSlot& y) {
    return x.in == y.in && x.out == y.out && x.name == y.name;
  };
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    same_node) &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                    same_output) &&
         std::equal(a.states().begin(), a.states().end(), b.states().begin(), b.states().end(),
                    same_state);
}

void add_symbols(const Graph& graph, SymbolsUsed& used) {
  for (const Node& n : graph.nodes()) {
    add_symbols(n.attrs, used);
    for (const Type& t : n.outputs) add_symbols(t, used);
    for (Dim d : n.fresh) used.add(d);
  }
}

// --- structural ops

void Input::type(TypeCx& cx, const Attrs& a) {
  a.type.check();
  cx.out(a.type);
}
void Parameter::type(TypeCx& cx, const Attrs& a) {
  a.type.check();
  cx.out(a.type);
}

void Constant::type(TypeCx& cx, const Attrs& a) {
  cx.check(!a.value.empty_handle(), "has no tensor");
  Shape shape;
  for (int64_t d : a.value.shape()) shape.dims.push_back(d);
  cx.out(a.value.dtype(), std::move(shape));
}

void Constant::value(ValueCx& cx, const Attrs& a) {
  if (!(a.value.dtype() == kI64 || a.value.dtype() == kI32) || a.value.rank() > 1 ||
      a.value.numel() > static_cast<int64_t>(kMaxShapeValue))
    return;
  ShapeValue v;
  for (int64_t x : a.value.to_ints()) v.push_back(x);
  cx.set(0, std::move(v));
}

void Sizes::type(TypeCx& cx, const Attrs& a) {
  cx.out(kI64, Shape{static_cast<int64_t>(a.values.rank())});
}
void Sizes::value(ValueCx& cx, const Attrs& a) { cx.set(0, a.values.dims); }

// --- TypeCx

std::string_view TypeCx::input_name(size_t i) const {
  return i < op_.inputs.size ? op_.inputs.names[i] : op_.inputs.names[op_.inputs.size - 1];
}

void TypeCx::require_equal(Dim a, Dim b, std::string_view what) {
  const Equal e = compare(a, b);
  check(e != Equal::no, what, " differ; got ", a, " and ", b);
  if (e == Equal::unknown)
    constraints.push_back({Constraint::Kind::equal, a, b, node_, std::string(what)});
}

void TypeCx::require_at_least(Dim a, Dim b, std::string_view what) {
  const DimRange d = (a - b).range();
  check(d.high >= 0, what, "; got ", a, "; want at least ", b);
  if (d.low < 0)
    constraints.push_back({Constraint::Kind::at_least, a, b, node_, std::string(what)});
}

Dim TypeCx::broadcast(Dim a, Dim b, std::string_view what) {
  const Equal e = broadcastable(a, b);
  check(e != Equal::no, what, " do not broadcast; got ", a, " and ", b,
        "; want equal sizes or one of them 1");
  if (e == Equal::unknown)
    constraints.push_back({Constraint::Kind::broadcast, a, b, node_, std::string(what)});
  return dim_broadcast(a, b);
}

Shape TypeCx::broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  Shape out;
  out.dims.resize(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t ia = static_cast<int64_t>(i + a.rank()) - static_cast<int64_t>(rank);
    const int64_t ib = static_cast<int64_t>(i + b.rank()) - static_cast<int64_t>(rank);
    const Dim da = ia < 0 ? Dim(1) : a[ia], db = ib < 0 ? Dim(1) : b[ib];
    out.dims[i] =
        da == db ? da : broadcast(da, db, str("sizes of ", a, " and ", b, " at axis ", i));
  }
  return out;
}

int64_t TypeCx::axis(int64_t axis, size_t rank) const {
  const int64_t r = static_cast<int64_t>(rank);
  check(axis >= -r && axis < r, "axis out of range; got ", axis, "; want [", -r, ", ", r, ")");
  return axis < 0 ? axis + r : axis;
}

void TypeCx::require_float(size_t i) const {
  check(in(i).is_tensor() && in(i).dtype.is_float(), "input '", input_name(i),
        "' is not floating-point; got ", in(i));
}
void TypeCx::require_int(size_t i) const {
  check(in(i).is_tensor() && (in(i).dtype == kI32 || in(i).dtype == kI64), "input '", input_name(i),
        "' does not hold indices; got ", in(i), "; want i32 or i64");
}
void TypeCx::require_rank(size_t i, size_t rank) const {
  check(in(i).is_tensor() && in(i).rank() == rank, "input '", input_name(i),
        "' has the wrong rank; got ", in(i), "; want rank ", rank);
}
void TypeCx::require_same_dtype(size_t i, size_t j) const {
  check(in(i).dtype == in(j).dtype, "inputs '", input_name(i), "' and '", input_name(j),
        "' have different element types; got ", in(i), " and ", in(j));
}

}  // namespace lamella
