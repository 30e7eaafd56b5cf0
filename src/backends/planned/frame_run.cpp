// The steps of a run: kernels, copies, sizes, fallbacks, control; outputs and states at the end.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/frame.h"
#include "lamella/base/error.h"
#include "lamella/ops/evaluate.h"

namespace lamella::planned {

// Does the work, with a watch where one was asked for.
template <class Work>
void FrameState::record(uint32_t step, uint32_t segment, const Work& work) {
  if (!spans_) return work();
  const auto start = std::chrono::steady_clock::now();
  work();
  spans_->push_back({step, segment, start, std::chrono::steady_clock::now()});
}

void FrameState::run(const RunArgs& args) {
  const Graph& g = plan_->graph;
  CHECK_USER(
      args.inputs.size() == g.inputs().size() && args.parameters.size() == g.parameters().size() &&
          args.states.size() == g.states().size() && args.outputs.size() == g.outputs().size(),
      "run: got ", args.inputs.size(), " inputs, ", args.parameters.size(), " parameters, ",
      args.states.size(), " states and ", args.outputs.size(), " outputs; want ", g.inputs().size(),
      ", ", g.parameters().size(), ", ", g.states().size(), " and ", g.outputs().size());
  try {
    record(StepSpan::kBinding, 0, [&] { bind(args); });
    run_steps(args);
    finish(args);
  } catch (...) {
    is_bound_ = false;
    throw;
  }
}

// Sizes that become known on the way are served by the segment that learns them.
void FrameState::run_steps(const RunArgs& args) {
  uint32_t segment = 0;
  check_cancelled(cancel_);
  for (uint32_t s = 0; s < plan_->steps.size(); ++s) {
    check_cancelled(cancel_);
    record(s, segment, [&] { launch(s); });
    if (!plan_->steps[s].binds) continue;
    record(StepSpan::kBinding, ++segment, [&] {
      bind_segment(segment);
      prepare_results(args, segment);
      set_pointers();
    });
  }
}

void FrameState::launch(uint32_t s) {
  const Step& step = plan_->steps[s];
  if (step.pre_copy != kNone) pre_copy(s);
  switch (step.kind) {
    case StepKind::sizes:
      return write_sizes(step);
    case StepKind::reference:
      return run_reference(s);
    case StepKind::control:
      return run_control_step(s);
    case StepKind::copy:
    case StepKind::row:
      break;
  }
  const Row& row = step.kind == StepKind::copy ? *plan_->copy_row : *step.row;
  const Node& node = plan_->graph.nodes()[step.node];
  const StepCx cx(node, operands(s), step.prepared.get(), workspace_.get(), plan_->device.get(),
                  this, s, n_inputs(step));
  const Status status = row.launch(cx);
  if (status.code == Status::ok) return;
  const std::string message = str(plan_->graph.describe(step.node), ": ", message_of(status));
  if (status.code == Status::no_memory) throw DeviceError(message);
  throw UserError(message);
}

void FrameState::write_sizes(const Step& step) {
  const Node& node = plan_->graph.nodes()[step.node];
  for (size_t o = 0; o < step.operands.size(); ++o) {
    std::byte* to = address(step.operands[o]);
    const DType dtype = node.outputs[o].dtype;
    for (Dim d : *node.known[o]) {
      store_int(dtype, to, evaluate(d, binding_));
      to += dtype.bytes();
    }
  }
}

Tensor FrameState::tensor_of(uint32_t v) const {
  const ValuePlan& value = plan_->values[v];
  const std::vector<int64_t> shape = shape_of(v);
  if (value.home == Home::dynamic) return dynamic_[value.index];
  std::byte* data = address(v);
  auto storage = std::make_shared<Storage>();
  storage->data = data;
  if (value.dtype.is_block() || value.contiguous) {
    storage->bytes = tensor_bytes(value.dtype, shape);
    return Tensor(value.dtype, shape, std::move(storage));
  }
  // A strided view: give it room on both sides of `data`, since strides may be negative.
  int64_t low = 0, high = 0;
  const int64_t* strides = strides_.data() + value.sizes;
  for (uint32_t d = 0; d < value.rank; ++d)
    (strides[d] < 0 ? low : high) += std::max<int64_t>(shape[d] - 1, 0) * strides[d];
  const int64_t size = value.dtype.bytes();
  storage->data = data + low * size;
  storage->bytes = static_cast<size_t>((high - low + 1) * size);
  const Tensor whole(value.dtype, {high - low + 1}, std::move(storage));
  return whole.strided(shape, {strides, strides + value.rank}, static_cast<size_t>(-low * size));
}

void FrameState::copy_value(uint32_t v, std::byte* to) {
  const Tensor t = tensor_of(v).contiguous();
  if (t.bytes() > 0) std::memmove(to, t.data(), t.bytes());
}

void FrameState::pre_copy(uint32_t s) {
  const Step& step = plan_->steps[s];
  copy_value(step.operands[step.pre_copy], address(step.operands[n_inputs(step)]));
}

const Operand& FrameState::allocate(uint32_t s, size_t out, std::span<const int64_t> shape) {
  const Step& step = plan_->steps[s];
  const uint32_t v = step.operands[n_inputs(step) + out];
  const ValuePlan& value = plan_->values[v];
  CHECK_INTERNAL(value.home == Home::dynamic, plan_->graph.describe(step.node),
                 ": allocates an output whose size is known");
  adopt(s, out, Tensor(value.dtype, {shape.begin(), shape.end()}));
  return operands(s)[n_inputs(step) + out];
}

// Makes `tensor` (dense) the value of a dynamic output, and binds the symbols of its type.
void FrameState::adopt(uint32_t s, size_t out, const Tensor& tensor) {
  const Step& step = plan_->steps[s];
  const uint32_t v = step.operands[n_inputs(step) + out];
  const ValuePlan& value = plan_->values[v];
  const Type& type = plan_->graph.nodes()[step.node].outputs[out];
  bind_shape(type, tensor.shape(), binding_, plan_->graph.describe(step.node));
  dynamic_[value.index] = tensor;
  std::copy(tensor.shape().begin(), tensor.shape().end(), sizes_.begin() + value.sizes);
  std::copy(tensor.strides().begin(), tensor.strides().end(), strides_.begin() + value.sizes);
  operands(s)[n_inputs(step) + out].data = tensor.data();
}

void FrameState::run_reference(uint32_t s) {
  const Step& step = plan_->steps[s];
  std::vector<RefTensor> inputs;
  for (uint32_t i = 0; i < n_inputs(step); ++i)
    if (step.operands[i] != kNone) inputs.push_back(RefTensor::from(tensor_of(step.operands[i])));
  const std::vector<RefTensor> outputs =
      evaluate_body(*step.meaning, std::move(inputs), binding_, cancel_);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const uint32_t v = step.operands[n_inputs(step) + o];
    const Tensor t = outputs[o].to_tensor();
    if (plan_->values[v].home == Home::dynamic)
      adopt(s, o, t);
    else if (t.bytes() > 0)
      std::memcpy(address(v), t.data(), t.bytes());
  }
}

void FrameState::run_control_step(uint32_t s) {
  const Step& step = plan_->steps[s];
  std::vector<Tensor> inputs;
  for (uint32_t i = 0; i < n_inputs(step); ++i)
    inputs.push_back(step.operands[i] == kNone ? Tensor()
                                               : tensor_of(step.operands[i]).contiguous());
  std::vector<std::unique_ptr<FrameState>>& frames = body_frames_[s];
  if (frames.empty())
    for (const auto& body : step.bodies) frames.push_back(std::make_unique<FrameState>(body));
  std::vector<RunBody> bodies;
  for (const auto& frame : frames) {
    frame->cancel_with(cancel_);
    bodies.push_back([&frame](std::vector<Tensor> given, const DimBinding& outer) {
      return frame->run_body(std::move(given), outer);
    });
  }
  const Node& node = plan_->graph.nodes()[step.node];
  // A loop of no steps gives what it was given, memory that others write to when it is read no
  // more.
  const auto is_given = [&](const Tensor& t) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Tensor& input) { return t.storage() == input.storage(); });
  };
  const std::vector<Tensor> outputs = run_control(node, inputs, bodies, binding_);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const uint32_t v = step.operands[n_inputs(step) + o];
    if (plan_->values[v].home == Home::dynamic) {
      adopt(s, o, is_given(outputs[o]) ? outputs[o].clone() : outputs[o]);
      continue;
    }
    CHECK_USER(outputs[o].shape() == shape_of(v), plan_->graph.describe(step.node),
               ": a body's output has another size than the node's type");
    if (outputs[o].bytes() > 0) std::memcpy(address(v), outputs[o].data(), outputs[o].bytes());
  }
}

void FrameState::finish(const RunArgs& args) {
  const Plan& p = *plan_;
  for (auto [output, v] : p.output_copies) {
    const ValuePlan& value = p.values[v];
    Tensor& out = args.outputs[output];
    if (out.empty_handle()) out = Tensor(value.dtype, shape_of(v));
    CHECK_USER(out.dtype() == value.dtype && out.shape() == shape_of(v) && out.is_contiguous(),
               "run: the tensor given for output '", p.graph.outputs()[output].name,
               "' does not fit; want ", value.dtype, ", dense");
    copy_value(v, out.data());
  }
  for (size_t s = 0; s < p.next_states.size(); ++s) {
    const uint32_t v = p.next_states[s];
    if (v == kNone || (p.values[v].home == Home::next_state && p.values[v].index == s)) continue;
    next_states_[s] = Tensor(p.values[v].dtype, shape_of(v));
    copy_value(v, next_states_[s].data());
  }
  // States are replaced only now, when everything has succeeded.
  for (size_t s = 0; s < p.next_states.size(); ++s)
    if (p.next_states[s] != kNone) std::swap(args.states[s], next_states_[s]);
}

std::vector<Tensor> FrameState::run_body(std::vector<Tensor> inputs, const DimBinding& outer) {
  if (outer != outer_) {
    outer_ = outer;
    is_bound_ = false;
  }
  std::vector<Tensor> outputs(plan_->graph.outputs().size());
  run({inputs, {}, {}, outputs});
  return outputs;
}

}  // namespace lamella::planned
