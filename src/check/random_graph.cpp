#include "lamella/check/random_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "lamella/base/error.h"
#include "lamella/check/cases.h"
#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/quant/fake_quantize.h"
#include "lamella/ops/quant/fake_quantize_grad.h"

namespace lamella::check {
namespace {

constexpr int64_t kMaxElements = 4096;  // of an input: graphs are run many times

struct Source {
  const Op* op;
  size_t index;  // of the sample
  Sample sample;
  std::vector<DType> types;  // that inputs without a type of their own may take
};

bool is_small(const Sample& s) {
  return std::all_of(s.inputs.begin(), s.inputs.end(), [](const In& in) {
    int64_t n = 1;
    for (int64_t d : in.shape) n *= d;
    return n <= kMaxElements;
  });
}

// Formulas that round their own numbers to their type, as a constant is rounded when it is folded.
// The reference rounds nothing else, and rules leave such casts out: right, but other values.
bool rounds_inside(const Op* op) {
  return op == &lamella::op<FakeQuantize> || op == &lamella::op<FakeQuantizeGrad>;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = [] {
    std::vector<Source> list;
    for (const Op* op : all_ops()) {
      if (op->has(kStructural) || rounds_inside(op)) continue;
      const Samples samples = samples_of(*op);
      for (size_t i = 0; i < samples.list.size(); ++i)
        if (samples.list[i].error.empty() && is_small(samples.list[i]))
          list.push_back({op, i, samples.list[i], samples.types()});
    }
    return list;
  }();
  return all;
}

class Drawer {
 public:
  explicit Drawer(const Choose& choose) : choose_(choose) {
    // Sizes that are symbols in this graph: none, or a third of the small numbers.
    if (choose_(2) == 1)
      for (int64_t size = 2; size < 70; ++size)
        if (choose_(3) == 0) symbolic_.insert(size);
  }

  RandomGraph draw(size_t n_nodes) {
    for (size_t tries = 0; n_made_ < n_nodes && tries < 4 * n_nodes; ++tries) add_node();
    add_outputs();
    // Sub-graphs of the samples have symbols of their own; read back, they share the graph's.
    result_.graph = parse_graph(print(g_), builtin_ops());
    return std::move(result_);
  }

 private:
  struct Made {
    Value value;
    std::vector<int64_t> shape;
    bool is_read = false;
  };

  void add_node() {
    const Source& source = sources()[choose_(sources().size())];
    const bool is_f32 =
        std::find(source.types.begin(), source.types.end(), kF32) != source.types.end() &&
        choose_(4) != 0;
    const DType dtype = is_f32 ? kF32 : source.types[choose_(source.types.size())];
    const Case c = make_case(*source.op, source.index, source.sample, dtype, choose_(1 << 16));
    std::vector<Value> inputs;
    std::vector<size_t> reused;
    size_t present = 0;
    for (const In& in : source.sample.inputs) {
      if (in.is_absent) {
        inputs.push_back({});
        continue;
      }
      const Tensor& tensor = c.inputs[present++];
      const auto found = in.values.empty() ? reusable(tensor) : std::nullopt;
      if (found) reused.push_back(*found);
      inputs.push_back(found ? made_[*found].value : new_value(tensor));
    }
    try {
      const auto scope = g_.origin(c.label);
      const std::vector<Value> outputs = g_.add(*source.op, inputs, source.sample.attrs);
      // The reference rounds here, and a rule leaves it out: right, but other values.
      if (source.op == &op<Cast> && outputs[0].dtype() == inputs[0].dtype()) return;
      const bool is_constant = std::all_of(inputs.begin(), inputs.end(), [&](const Value& v) {
        return v.absent() || g_.node(v.id).is(op<Constant>);
      });
      // Folding rounds floats to their type, which the reference does not do.
      if (is_constant && !inputs.empty() && outputs[0].dtype().is_float()) return;
      for (size_t i : reused) made_[i].is_read = true;
      for (const Value& v : outputs) keep(v, is_constant);
      ++n_made_;
    } catch (const UserError&) {
      // Values that do not fit together after all; the next case may.
    }
  }

  // A value made before, of the tensor's type: floats only, whose values are free.
  std::optional<size_t> reusable(const Tensor& tensor) {
    if (!tensor.dtype().is_float() || choose_(4) == 0) return std::nullopt;
    std::vector<size_t> fitting;
    for (size_t i = 0; i < made_.size(); ++i)
      if (made_[i].value.dtype() == tensor.dtype() && made_[i].shape == tensor.shape())
        fitting.push_back(i);
    if (fitting.empty()) return std::nullopt;
    return fitting[choose_(fitting.size())];
  }

  Value new_value(const Tensor& tensor) {
    const std::string name = str("v", result_.inputs.size() + result_.weights.size());
    // (Floats are no constants: what is folded of them is rounded to their type.)
    switch (choose_(4)) {
      case 0:
        if (!tensor.dtype().is_float()) return g_.constant(tensor);
        [[fallthrough]];
      case 1:
        result_.weights[name] = tensor;
        return g_.parameter(name, type_of(tensor, false));
      default:
        result_.inputs[name] = tensor;
        return g_.input(name, type_of(tensor, !tensor.dtype().is_block()));
    }
  }

  Type type_of(const Tensor& tensor, bool may_be_symbolic) {
    Shape shape;
    for (int64_t d : tensor.shape()) {
      if (!may_be_symbolic || !symbolic_.count(d)) {
        shape.dims.push_back(d);
        continue;
      }
      shape.dims.push_back(g_.symbol(str("n", d)));
      binding_.resize(g_.dims()->n_symbols());
      binding_[shape.dims.back().expr()->symbol] = d;
    }
    return Type(tensor.dtype(), std::move(shape));
  }

  // What is constant is an output only.
  void keep(const Value& v, bool is_constant) {
    if (v.absent() || !v.type().is_tensor()) return;
    Made made{v, {}, false};
    try {
      binding_.resize(g_.dims()->n_symbols());
      for (Dim d : v.shape()) made.shape.push_back(evaluate(d, binding_));
    } catch (const UserError&) {
      made.shape = {-1};  // known when it has run: an output only
    }
    if (is_constant) made.shape = {-1};
    made_.push_back(std::move(made));
  }

  void add_outputs() {
    size_t n = 0;
    for (const Made& m : made_)
      if ((!m.is_read || choose_(8) == 0) && !m.value.dtype().is_string())
        g_.output(str("y", n++), m.value);
  }

  const Choose& choose_;
  std::set<int64_t> symbolic_;
  Graph g_{"random"};
  RandomGraph result_;
  DimBinding binding_;
  std::vector<Made> made_;
  size_t n_made_ = 0;
};

}  // namespace

RandomGraph random_graph(const Choose& choose, size_t n_nodes) {
  return Drawer(choose).draw(n_nodes);
}

}  // namespace lamella::check
