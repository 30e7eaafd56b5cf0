// The contract that an op's file is written against: what eval, expand, vjp and samples see, and
// how ops are called.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/ir/graph.h"
#include "lamella/ops/ref_tensor.h"

namespace lamella {

// The inputs of a composite being expanded.
class Args {
 public:
  Args(Graph& graph, std::vector<Value> values) : graph_(graph), values_(std::move(values)) {}
  Value operator[](size_t i) const { return i < values_.size() ? values_[i] : Value{}; }
  bool has(size_t i) const { return i < values_.size() && !values_[i].absent(); }
  size_t size() const { return values_.size(); }
  const std::vector<Value>& values() const { return values_; }
  Graph& graph() const { return graph_; }

 private:
  Graph& graph_;
  std::vector<Value> values_;
};

// What the meaning of a primitive sees. Inputs are f64/i64; the executor wraps integer outputs to
// their width.
class EvalCx {
 public:
  using Caller = std::function<std::vector<RefTensor>(const Graph&, std::vector<RefTensor>)>;

  EvalCx(const Node& node, std::vector<const RefTensor*> inputs, const DimBinding& binding,
         Caller caller)
      : outputs(node.outputs.size()),
        node_(node),
        inputs_(std::move(inputs)),
        binding_(binding),
        caller_(std::move(caller)) {}

  size_t n_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  const RefTensor& in(size_t i) const { return *inputs_[i]; }
  const std::vector<int64_t>& shape(size_t i) const { return in(i).shape; }
  size_t n_outputs() const { return outputs.size(); }
  const Type& out_type(size_t i) const { return node_.outputs[i]; }
  // True when the hidden outputs for the gradient are wanted; they are the last ones.
  bool wants_saved() const { return node_.n_saved > 0; }
  // Output i, zero-filled, with the sizes of its type...
  RefTensor& out(size_t i);
  // ...or with sizes that only the data decide; they bind the type's fresh symbols.
  RefTensor& out(size_t i, std::vector<int64_t> shape);
  int64_t size(Dim dim) const { return evaluate(dim, binding_); }
  // The same, or nothing where a symbol has no value yet.
  std::optional<int64_t> known_size(Dim dim) const;
  // Runs a sub-graph on its inputs, in order.
  std::vector<RefTensor> call(const Graph& graph, std::vector<RefTensor> args) const {
    return caller_(graph, std::move(args));
  }
  std::string where() const { return std::string(node_.op->info.name); }
  template <class... A>
  void check(bool condition, A&&... args) const {
    if (condition) return;
    std::string origin =
        node_.origin && !node_.origin->empty() ? " (at " + *node_.origin + ")" : "";
    throw UserError(str(node_.op->info.name, ": ", std::forward<A>(args)..., origin));
  }

  std::vector<RefTensor> outputs;

 private:
  const Node& node_;
  std::vector<const RefTensor*> inputs_;
  const DimBinding& binding_;
  Caller caller_;
};

// What a gradient rule sees: it builds the gradient of each input from inputs, outputs and incoming
// gradients.
class VjpCx {
 public:
  using Differentiate = std::function<Graph(const Graph&)>;

  VjpCx(Graph& graph, const Node& node, std::vector<Value> inputs, std::vector<Value> outputs,
        std::vector<Value> grads, Differentiate differentiate = {})
      : graph_(graph),
        node_(node),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        grads_(std::move(grads)),
        differentiate_(std::move(differentiate)),
        results_(inputs_.size()) {}

  Graph& graph() const { return graph_; }
  size_t n_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].absent(); }
  Value in(size_t i) const { return inputs_[i]; }
  size_t n_outputs() const { return outputs_.size() - node_.n_saved; }
  Value out(size_t i) const { return outputs_[i]; }
  // Hidden output i.
  Value saved(size_t i) const { return outputs_[outputs_.size() - node_.n_saved + i]; }
  // Gradient with respect to output i; absent when nothing depends on that output.
  Value grad(size_t i = 0) const { return grads_[i]; }
  bool has_grad(size_t i) const { return !grads_[i].absent(); }
  // Sets the gradient of input i. Where the input was broadcast, the engine sums over the broadcast
  // axes.
  void set(size_t i, Value gradient) { results_[i] = gradient; }
  const std::vector<Value>& results() const { return results_; }
  // The gradient of a sub-graph as a graph: from its inputs, then the gradients of its
  // floating-point outputs, to the gradients of its floating-point inputs.
  Graph gradient_of(const Graph& body) const { return differentiate_(body); }

 private:
  Graph& graph_;
  const Node& node_;
  std::vector<Value> inputs_, outputs_, grads_;
  Differentiate differentiate_;
  std::vector<Value> results_;
};

// --- samples: one list of cases an op drives parity, gradient, error and literal tests

// Range that random values of an input are drawn from (uniform). Integers include both ends.
struct Domain {
  double low = -2, high = 2;
  bool nonfinite = false;  // floats: a few elements are NaN, +inf, -inf
};

// One input of a sample. With `values` it is literal, else drawn from `domain`.
struct In {
  std::vector<int64_t> shape;
  DType dtype = {};  // none: the type that the sample is run at (see Samples::types)
  Domain domain = {};
  std::vector<double> values = {};  // literal, row-major; for integers they are exact up to 2^53
  bool is_absent = false;
  static In absent() {
    In in;
    in.is_absent = true;
    return in;
  }
};

// One output that literal inputs must give, as computed outside Lamella.
struct Expect {
  std::vector<int64_t> shape;
  std::vector<double> values;
  double tolerance = 1e-6;  // |difference| <= tolerance * max(1, |value|), in the reference
};

struct Sample {
  std::vector<In> inputs;
  AttrBox attrs;
  std::vector<Expect> expect;  // literal outputs; empty when the sample has none
  std::string error;           // a bad sample: the message must contain this
  std::string source;          // literal values: library and version they came from
  int64_t length = 1;          // reduced length, for bounds that grow with it
  bool grad = true;            // used by the gradient check (where the op has a gradient)
  // Bit i: axis 0 of input i and of every output counts independent rows. Each row alone must then
  // give the same bits as among the others.
  uint32_t row_inputs = 0;
};

inline constexpr DType kFloatTypes[] = {kF32, kF16, kBF16, kF64};
inline constexpr DType kIntTypes[] = {kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64};
inline constexpr DType kNumberTypes[] = {kF32, kF16, kBF16, kF64, kI32, kI64, kU8, kI8};
inline constexpr DType kBoolTypes[] = {kBool};
inline constexpr DType kAnyTypes[] = {kF32, kF16, kBF16, kF64, kI32, kI64, kU8, kI8, kBool};

class Samples {
 public:
  // The types that inputs without a type of their own take in turn. Default: floats.
  void types(std::span<const DType> types) { types_.assign(types.begin(), types.end()); }
  // A case of random values. The returned sample may be refined (length, grad).
  template <class A = NoAttrs>
  Sample& add(std::vector<In> inputs, A attrs = {}) {
    list.push_back(Sample{std::move(inputs), AttrBox(std::move(attrs)), {}, {}, {}, 1, true, 0});
    return list.back();
  }
  // A case with literal inputs and outputs from `source`.
  template <class A = NoAttrs>
  Sample& expect(std::string source, std::vector<In> inputs, A attrs, std::vector<Expect> outputs) {
    Sample& s = add(std::move(inputs), std::move(attrs));
    s.expect = std::move(outputs);
    s.source = std::move(source);
    return s;
  }
  // A case that the op must refuse with a message that contains `message`.
  template <class A = NoAttrs>
  void bad(std::vector<In> inputs, A attrs, std::string message) {
    add(std::move(inputs), std::move(attrs)).error = std::move(message);
  }
  const std::vector<DType>& types() const { return types_; }

  std::vector<Sample> list;

 private:
  std::vector<DType> types_{std::begin(kFloatTypes), std::end(kFloatTypes)};
};

// --- calling ops: softmax(x, {.axis = 1})

Graph& graph_of(std::span<const Value> values);

template <class T>
struct Call {
  using A = typename AttrsOf<T>::type;
  static constexpr NameList kInputs = parse_names(T::info.inputs);
  static constexpr NameList kOutputs = parse_names(T::info.outputs);
  static constexpr bool kOne = kOutputs.size == 1 && !kOutputs.variadic;
  using Result = std::conditional_t<kOne, Value, Values>;
  static constexpr bool takes(size_t n) {
    return n >= kInputs.n_required() && (n <= kInputs.size || kInputs.variadic);
  }

  Result operator()(Value x, A a = {}) const requires(takes(1)) { return build({x}, std::move(a)); }
  Result operator()(Value x, Value y, A a = {}) const requires(takes(2)) {
    return build({x, y}, std::move(a));
  }
  Result operator()(Value x, Value y, Value z, A a = {}) const requires(takes(3)) {
    return build({x, y, z}, std::move(a));
  }
  Result operator()(Value x, Value y, Value z, Value w, A a = {}) const requires(takes(4)) {
    return build({x, y, z, w}, std::move(a));
  }
  Result operator()(Value x, Value y, Value z, Value w, Value v, A a = {}) const
      requires(takes(5)) {
    return build({x, y, z, w, v}, std::move(a));
  }
  // Any number of inputs; `graph` is needed only when there are none.
  Result operator()(const Values& inputs, A a = {}, Graph* graph = nullptr) const {
    return build(inputs, std::move(a), graph);
  }

 private:
  static Result build(std::vector<Value> inputs, A a, Graph* graph = nullptr) {
    Graph& g = graph ? *graph : graph_of(inputs);
    Values out = g.add(op<T>, inputs, AttrBox(std::move(a)));
    if constexpr (kOne)
      return out[0];
    else
      return out;
  }
};

// --- the tables

// Every built-in op, family by family, in the order of the families' lists; structural ops first.
std::span<const Op* const> all_ops();
// The built-in ops as a set.
const OpSet& builtin_ops();

}  // namespace lamella
