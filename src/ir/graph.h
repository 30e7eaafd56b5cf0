// The graph: append-only nodes in topological order, each with one op, inputs, attributes, typed
// outputs and an origin. A graph is a value; passes build new ones. Building a node runs the op's
// shape rule, the only validator.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lamella/ir/op.h"
#include "lamella/ir/type.h"

namespace lamella {

// Output `out` of node `node`. An absent optional input is kAbsent.
struct ValueId {
  uint32_t node = ~0u;
  uint32_t out = 0;
  bool absent() const { return node == ~0u; }
  bool operator==(const ValueId&) const = default;
};
inline constexpr ValueId kAbsent{};

class Graph;

// A handle for building: a value of a graph, or absent. Valid while the graph stays where it is.
struct Value {
  Graph* graph = nullptr;
  ValueId id = kAbsent;

  bool absent() const { return graph == nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
};

// The contents of a small integer tensor that holds sizes, element by element, row-major.
using ShapeValue = std::vector<Dim>;

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> inputs;
  AttrBox attrs;
  std::vector<Type> outputs;
  std::vector<std::shared_ptr<const ShapeValue>> known;  // an output's shape value, or null
  std::shared_ptr<const std::string> origin;             // "blk.3.attn_q.weight"; may be null
  uint32_t n_saved = 0;    // of the outputs, how many at the end are hidden ones for the gradient
  std::vector<Dim> fresh;  // the symbols that this node's shape rule introduced, in order

  bool is(const Op& o) const { return op == &o; }
};

// Sizes that must be found equal (or broadcastable) when the symbols are bound.
struct Constraint {
  enum class Kind { equal, broadcast, at_least } kind = Kind::equal;
  Dim a, b;
  uint32_t node = 0;
  std::string what;
};

// State: an input that a run reads and an output that replaces it, aliased by the planner.
struct StateSlot {
  std::string name;
  ValueId in, out;
};

struct NamedValue {
  std::string name;
  ValueId id;
};

class Graph {
 public:
  explicit Graph(std::string name = "main", std::shared_ptr<DimTable> dims = nullptr);
  Graph(const Graph&) = default;
  Graph(Graph&&) = default;
  Graph& operator=(const Graph&) = default;
  Graph& operator=(Graph&&) = default;

  // --- building
  Value input(std::string name, Type type);
  // A named input bound from a Weights set.
  Value parameter(std::string name, Type type);
  Value constant(Tensor tensor);
  // A rank-0 constant of that type.
  Value scalar(DType dtype, double value);
  // An i64[n] of sizes.
  Value sizes(ShapeValue values);
  // An input that is state; set_state says what replaces it.
  Value state(std::string name, Type type);
  void set_state(std::string_view name, Value next);
  void output(std::string name, Value value);

  // Appends a node: checks arity, runs the shape rule. Throws UserError naming op and origin. With
  // `save`, the hidden outputs for the gradient are made too (at the end). A node that is rebuilt
  // gives its old `fresh` symbols, so that sizes elsewhere which speak of them stay true.
  std::vector<Value> add(const Op& op, std::span<const Value> inputs, AttrBox attrs,
                         bool save = false, std::span<const Dim> fresh = {});
  Dim symbol(std::string_view name, DimRange range = {}, int64_t divisor = 1) {
    return dims_->symbol(name, range, divisor);
  }
  // A new graph with this one's symbols, for an attribute.
  Graph sub_graph(std::string name) const { return Graph(std::move(name), dims_); }

  // Every node appended while the returned scope lives has this origin (nested: joined by '/').
  class OriginScope {
   public:
    OriginScope(Graph& graph, std::shared_ptr<const std::string> origin);
    ~OriginScope();
    OriginScope(const OriginScope&) = delete;
    OriginScope& operator=(const OriginScope&) = delete;

   private:
    Graph& graph_;
    std::shared_ptr<const std::string> before_;
  };
  [[nodiscard]] OriginScope origin(std::string text);
  [[nodiscard]] OriginScope origin(std::shared_ptr<const std::string> text);

  // --- reading
  const std::string& name() const { return name_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(ValueId id) const { return nodes_[id.node]; }
  const Type& type(ValueId id) const { return nodes_[id.node].outputs[id.out]; }
  const ShapeValue* known(ValueId id) const { return nodes_[id.node].known[id.out].get(); }
  Value value(ValueId id) { return id.absent() ? Value{} : Value{this, id}; }
  const std::vector<ValueId>& inputs() const { return inputs_; }          // in order of declaration
  const std::vector<ValueId>& parameters() const { return parameters_; }  // likewise
  const std::vector<NamedValue>& outputs() const { return outputs_; }
  const std::vector<StateSlot>& states() const { return states_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  const std::shared_ptr<DimTable>& dims() const { return dims_; }
  // The types that a node's shape rule gives now: a bug in a pass shows as a difference from what
  // is stored.
  std::vector<Type> derive(uint32_t node) const;
  // Name of an input or parameter node.
  const std::string& input_name(ValueId id) const;
  // "softmax %12 (blk.3.attn)": how messages name a node.
  std::string describe(uint32_t node) const;

  // Hash of structure: ops, attributes, wiring, types, outputs; not names, not origins.
  uint64_t hash() const;

 private:
  friend class TypeCx;
  friend class GraphRewriter;
  ValueId append_structural(const Op& op, AttrBox attrs);
  // Checks arity and runs the op's shape rule. Throws UserError naming op and origin.
  static void run_type_rule(TypeCx& cx, const AttrBox& attrs, const std::string* origin);
  // What the node's rule for shape values gives; null where it gives none.
  std::vector<std::shared_ptr<const ShapeValue>> shape_values(const Node& node) const;
  // Notes that `index` is where the input, parameter, state or output (by its letter) of that name
  // stands.
  void declare(char kind, std::string_view what, const std::string& name, size_t index);
  std::optional<size_t> declared(char kind, std::string_view name) const;

  std::string name_;
  std::shared_ptr<DimTable> dims_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_, parameters_;
  std::vector<NamedValue> outputs_;
  std::vector<StateSlot> states_;
  std::vector<Constraint> constraints_;
  std::unordered_map<std::string, size_t> names_;
  std::shared_ptr<const std::string> origin_;
};

inline const Type& Value::type() const { return graph->type(id); }

// Same structure: ops, attributes (constants by content), wiring, types, outputs, state; names of
// inputs too. Not origins. Graphs may have different symbol tables: sizes are compared by their
// text.
bool same_graph(const Graph& a, const Graph& b);

// The symbols that the graph's types and attributes depend on.
void add_symbols(const Graph& graph, SymbolsUsed& used);

// --- the structural ops; their nodes carry no computation

enum class InputRole : int { input, state };
template <>
struct EnumNames<InputRole> {
  static constexpr std::array<std::string_view, 2> names{"input", "state"};
};

struct Input {
  static constexpr Info info{.name = "input",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "A value that each run is given.",
                             .traits = kStructural};
  struct Attrs {
    std::string name;
    Type type;
    InputRole role = InputRole::input;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("name", &Attrs::name), f("type", &Attrs::type), f("role", &Attrs::role);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
};

struct Parameter {
  static constexpr Info info{.name = "parameter",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "A named weight, bound from a Weights set.",
                             .traits = kStructural};
  struct Attrs {
    std::string name;
    Type type;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("name", &Attrs::name), f("type", &Attrs::type); }
  };
  static void type(TypeCx& cx, const Attrs& a);
};

struct Constant {
  static constexpr Info info{.name = "constant",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "A tensor that is part of the graph.",
                             .traits = kStructural};
  struct Attrs {
    Tensor value;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("value", &Attrs::value); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void value(ValueCx& cx, const Attrs& a);
};

struct Sizes {
  static constexpr Info info{.name = "sizes",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "An i64 vector of sizes, known when symbols are bound.",
                             .traits = kStructural};
  struct Attrs {
    Shape values;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("values", &Attrs::values); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void value(ValueCx& cx, const Attrs& a);
};

// --- what a shape rule sees

class TypeCx {
 public:
  TypeCx(Graph& graph, uint32_t node, const Op& op, std::span<const Value> inputs)
      : graph_(graph), node_(node), op_(op), inputs_(inputs) {}

  size_t n_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].absent(); }
  const Type& in(size_t i) const { return inputs_[i].type(); }
  // The sizes of input i; UserError when it is no tensor, or an encoded one without an axis.
  const Shape& shape(size_t i) const {
    check(in(i).is_tensor() && (!in(i).dtype.is_block() || in(i).rank() > 0), "input '",
          input_name(i), "' is not a tensor with the axes that its type needs; got ", in(i));
    return in(i).shape;
  }
  // The shape value of input i, where it is known.
  const ShapeValue* known(size_t i) const { return graph_.known(inputs_[i].id); }
  const Op& op() const { return op_; }
  DimTable& dims() { return *graph_.dims_; }
  // True when hidden outputs are wanted: the rule then also calls saved_out for each.
  bool wants_saved() const { return wants_saved_; }

  void out(Type type) { outputs.push_back(std::move(type)); }
  void out(DType dtype, Shape shape) { out(Type(dtype, std::move(shape))); }
  void saved_out(DType dtype, Shape shape) {
    out(Type(dtype, std::move(shape)));
    ++n_saved;
  }
  // A size that is known only when the op has run.
  Dim fresh(std::string_view prefix) {
    const size_t i = fresh_made.size();
    fresh_made.push_back(i < fresh_given_.size() ? fresh_given_[i] : graph_.dims_->fresh(prefix));
    return fresh_made.back();
  }
  // Error now when the sizes differ, a constraint when that is unknown.
  void require_equal(Dim a, Dim b, std::string_view what);
  // a >= b, likewise.
  void require_at_least(Dim a, Dim b, std::string_view what);
  // The broadcast of two sizes or shapes (aligned at the end), with its constraint.
  Dim broadcast(Dim a, Dim b, std::string_view what);
  Shape broadcast(const Shape& a, const Shape& b);
  // An axis in [-rank, rank), made non-negative.
  int64_t axis(int64_t axis, size_t rank) const;
  // Input i is a tensor of one of these kinds.
  void require_float(size_t i) const;
  void require_int(size_t i) const;  // i32 or i64
  void require_rank(size_t i, size_t rank) const;
  void require_same_dtype(size_t i, size_t j) const;
  // Throws "name: what; got ..." as a UserError.
  template <class... A>
  [[noreturn]] void fail(A&&... args) const {
    throw UserError(str(op_.info.name, ": ", std::forward<A>(args)...));
  }
  template <class... A>
  void check(bool condition, A&&... args) const {
    if (!condition) [[unlikely]]
      fail(std::forward<A>(args)...);
  }
  std::string_view input_name(size_t i) const;

  std::vector<Type> outputs;
  std::vector<Constraint> constraints;
  std::vector<Dim> fresh_made;
  uint32_t n_saved = 0;

 private:
  friend class Graph;
  Graph& graph_;
  uint32_t node_;
  const Op& op_;
  std::span<const Value> inputs_;
  std::span<const Dim> fresh_given_;
  bool wants_saved_ = false;
};

// What a rule for shape values sees: inputs' known sizes (null where unknown), outputs to fill.
class ValueCx {
 public:
  ValueCx(const Graph& graph, const Node& node)
      : graph_(graph), node_(node), out_(node.outputs.size()) {}
  size_t n_inputs() const { return node_.inputs.size(); }
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].absent(); }
  const ShapeValue* known(size_t i) const { return graph_.known(node_.inputs[i]); }
  const Type& in(size_t i) const { return graph_.type(node_.inputs[i]); }
  const Type& out_type(size_t i) const { return node_.outputs[i]; }
  void set(size_t i, ShapeValue value) {
    out_[i] = std::make_shared<const ShapeValue>(std::move(value));
  }
  std::vector<std::shared_ptr<const ShapeValue>> take() { return std::move(out_); }

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<std::shared_ptr<const ShapeValue>> out_;
};

// Shape values are tracked up to this many elements.
inline constexpr size_t kMaxShapeValue = 1024;

}  // namespace lamella
