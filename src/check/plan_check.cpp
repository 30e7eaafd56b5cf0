#include "lamella/check/plan_check.h"

#include <cstring>
#include <map>
#include <set>

#include "lamella/backends/planned/frame.h"
#include "lamella/base/error.h"
#include "lamella/ops/evaluate.h"

namespace lamella::check {
namespace {

using planned::FrameState;
using planned::Home;
using planned::kNone;
using planned::Plan;
using planned::Step;
using planned::StepKind;

// What the back end has no kernel for runs on the reference, in a plan all the same.
const CompileOptions kOptions{.allow_fallback = true};

// Whose bytes lie where, step by step.
class BufferWalk {
 public:
  explicit BufferWalk(const FrameState& frame) : frame_(frame), plan_(frame.plan()) {}

  std::string run() {
    for (uint32_t s = 0; s < plan_.steps.size() && problem_.empty(); ++s) step(plan_.steps[s]);
    for (auto [output, v] : plan_.output_copies) read(v, nullptr);
    for (uint32_t v : plan_.next_states)
      if (v != kNone) read(v, nullptr);
    return problem_;
  }

 private:
  static bool overlap(const FrameState::Placed& a, const FrameState::Placed& b) {
    return a.segment == b.segment && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  size_t n_inputs(const Step& step) const {
    if (step.kind == StepKind::sizes) return 0;
    if (step.kind == StepKind::copy) return 1;
    return plan_.graph.nodes()[step.node].inputs.size();
  }
  // The buffer of a value's elements; kNone where they lie elsewhere.
  uint32_t buffer_of(uint32_t v) const {
    if (v == kNone) return kNone;
    while (plan_.values[v].home == Home::alias) v = plan_.values[v].base;
    return plan_.values[v].home == Home::arena ? plan_.values[v].index : kNone;
  }

  void read(uint32_t v, const Step* step) {
    const uint32_t b = buffer_of(v);
    if (b == kNone || live_.count(b) || frame_.placed(b).bytes == 0 || !problem_.empty()) return;
    problem_ = str(step ? plan_.graph.describe(step->node) : "the end of the run",
                   " reads a buffer that was overwritten or never written");
  }

  void step(const Step& step) {
    const size_t n = n_inputs(step);
    for (size_t i = 0; i < n; ++i) read(step.operands[i], &step);
    for (size_t i = n; i < step.operands.size(); ++i) {
      const uint32_t out = buffer_of(step.operands[i]);
      if (out == kNone) continue;
      const auto placed = frame_.placed(out);
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const uint32_t other = buffer_of(step.operands[k]);
        if (k != i && other != kNone && other != out && overlap(placed, frame_.placed(other)))
          problem_ = plan_.graph.describe(step.node) + " writes over another of its operands";
      }
      std::erase_if(live_, [&](uint32_t l) { return overlap(placed, frame_.placed(l)); });
      live_.insert(out);
    }
  }

  const FrameState& frame_;
  const Plan& plan_;
  std::set<uint32_t> live_;  // buffers that hold what was written to them
  std::string problem_;
};

// The nodes of a program one by one.
class OneByOne {
 public:
  OneByOne(const Graph& graph, const Backend& backend) : g_(graph), backend_(backend) {}

  void give(ValueId id, const Tensor& tensor) { set(id, tensor); }

  void run() {
    for (uint32_t i = 0; i < g_.nodes().size(); ++i) {
      const Node& n = g_.nodes()[i];
      if (n.is(op<Constant>))
        set({i, 0}, n.attrs.as<Constant::Attrs>().value);
      else if (!n.op->has(kStructural))
        run_node(i, n);
    }
  }

  // The value, made of its sizes where those are all that it is.
  Tensor value(ValueId id) const {
    const auto found = values_.find({id.node, id.out});
    if (found != values_.end()) return found->second;
    const Type& type = g_.type(id);
    RefTensor t(type.dtype, shape_of(type));
    for (size_t i = 0; i < t.i.size(); ++i) t.i[i] = evaluate((*g_.known(id))[i], binding_);
    return t.to_tensor();
  }

 private:
  void set(ValueId id, const Tensor& tensor) {
    bind_shape(g_.type(id), tensor.shape(), binding_, g_.describe(id.node));
    values_[{id.node, id.out}] = tensor.contiguous();
  }
  std::vector<int64_t> shape_of(const Type& type) const {
    std::vector<int64_t> shape;
    for (Dim d : type.shape) shape.push_back(evaluate(d, binding_));
    return shape;
  }

  // An input without elements whose shape binds what is bound: attributes may hold sizes, too.
  Tensor sizes_so_far(Graph& alone) const {
    Type type(kBool, Shape{0});
    std::vector<int64_t> shape{0};
    const std::vector<const DimExpr*> symbols = g_.dims()->symbols();
    for (size_t s = 0; s < binding_.size(); ++s) {
      if (!binding_[s]) continue;
      type.shape.dims.push_back(Dim(*symbols[s]));
      shape.push_back(*binding_[s]);
    }
    alone.input("sizes", type);
    return Tensor(kBool, shape);
  }

  void run_node(uint32_t i, const Node& n) {
    Graph alone("alone", g_.dims());
    std::vector<Value> inputs;
    std::vector<Tensor> given;
    for (ValueId id : n.inputs) {
      if (id.absent()) {
        inputs.push_back({});
        continue;
      }
      const Tensor tensor = value(id);
      if (g_.node(id).is(op<Constant>) || g_.known(id)) {
        inputs.push_back(alone.constant(tensor));
        continue;
      }
      Shape shape;
      for (int64_t d : tensor.shape()) shape.dims.push_back(d);
      inputs.push_back(alone.input(str("x", given.size()), Type(tensor.dtype(), std::move(shape))));
      given.push_back(tensor);
    }
    given.push_back(sizes_so_far(alone));
    const Values out = alone.add(*n.op, inputs, n.attrs, n.n_saved > 0);
    for (size_t o = 0; o < out.size(); ++o) alone.output(str("y", o), out[o]);
    std::vector<Tensor> outputs(out.size());
    backend_.build(std::move(alone), kOptions)->new_frame()->run({given, {}, {}, outputs});
    for (uint32_t o = 0; o < outputs.size(); ++o) set({i, o}, outputs[o]);
  }

  const Graph& g_;
  const Backend& backend_;
  DimBinding binding_;
  std::map<std::pair<uint32_t, uint32_t>, Tensor> values_;
};

std::vector<Tensor> tensors_of(const Graph& g, const std::vector<ValueId>& ids,
                               const RandomGraph& random) {
  std::vector<Tensor> out;
  for (ValueId id : ids) {
    const std::string& name = g.input_name(id);
    const TensorMap& map = random.weights.count(name) ? random.weights : random.inputs;
    out.push_back(map.at(name).contiguous());
  }
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace

std::string check_plan(const RandomGraph& random, const Backend& backend) {
  OptimizeOptions how;
  how.hoist = false;
  const std::shared_ptr<const Executable> executable =
      backend.build(optimize(random.graph, backend.target(kOptions), how).graph, kOptions);
  const auto made = executable->new_frame();
  auto* frame = dynamic_cast<FrameState*>(made.get());
  if (!frame) return "";
  const Graph& g = executable->graph();
  const std::vector<Tensor> inputs = tensors_of(g, g.inputs(), random),
                            parameters = tensors_of(g, g.parameters(), random);
  std::vector<Tensor> outputs(g.outputs().size());
  frame->run({inputs, parameters, {}, outputs});
  if (std::string problem = BufferWalk(*frame).run(); !problem.empty()) return "plan: " + problem;
  OneByOne nodes(g, backend);
  for (size_t i = 0; i < inputs.size(); ++i) nodes.give(g.inputs()[i], inputs[i]);
  for (size_t i = 0; i < parameters.size(); ++i) nodes.give(g.parameters()[i], parameters[i]);
  nodes.run();
  for (size_t o = 0; o < outputs.size(); ++o)
    if (!same_bits(outputs[o], nodes.value(g.outputs()[o].id)))
      return str("plan: output '", g.outputs()[o].name, "' has other bits than ",
                 g.describe(g.outputs()[o].id.node), " alone");
  return "";
}

}  // namespace lamella::check
