// From steps to arrays: each way that a node may take.
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/frame.h"
#include "lamella/backends/mlx/view_primitive.h"
#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/evaluate.h"

namespace lamella::on_mlx {

void MlxFrame::build() {
  if (plan_->device->mode != MlxMode::compiled)
    return build_steps(0, static_cast<uint32_t>(plan_->steps.size()));
  for (uint32_t r = 0; r < plan_->regions.size(); ++r) {
    const Region& region = plan_->regions[r];
    if (region.is_cut)
      build_steps(region.first, region.end);
    else
      build_compiled(r);
  }
}

void MlxFrame::build_steps(uint32_t first, uint32_t end) {
  for (uint32_t s = first; s < end; ++s) {
    const Step& step = plan_->steps[s];
    check_cancelled(cancel_);
    build_step(s);
    if (step.in_place) {
      effects_.push_back(*arrays_[plan_->value({step.node, 0})]);
      // MLX writes in place what nothing else holds.
      if (step.way == Way::core)
        arrays_[plan_->value(plan_->graph.nodes()[step.node].inputs[step.updates])].reset();
    }
    if (plan_->device->mode == MlxMode::eager) {
      Arrays made;
      for (uint32_t o = 0; o < plan_->graph.nodes()[step.node].outputs.size(); ++o)
        if (const Held& held = arrays_[plan_->value({step.node, o})]) made.push_back(*held);
      evaluate_now(std::move(made));
    }
    set_going(s);
    for (uint32_t v : step.dead) arrays_[v].reset();
  }
}

// Lets a GPU begin while later steps are built, and waits where much was made for single products:
// that is let go when they have run.
void MlxFrame::set_going(uint32_t s) {
  constexpr uint32_t kFirst = 10,
                     kSteps = 48;  // early first, so that it does not wait for the host
  constexpr int64_t kMostScratch = int64_t{1} << 30;
  if (!plan_->device->on_gpu() || plan_->device->mode != MlxMode::lazy) return;
  const bool is_full = lowering_.scratch_bytes > kMostScratch;
  if (!is_full && s % kSteps != kFirst) return;
  Arrays made;
  for (uint32_t o = 0; o < plan_->graph.nodes()[plan_->steps[s].node].outputs.size(); ++o)
    if (const Held& held = arrays_[plan_->value({plan_->steps[s].node, o})]) made.push_back(*held);
  if (made.empty()) return;
  mx::async_eval(made);
  if (!is_full) return;
  lowering_.scratch_bytes = 0;
  if (going_) mx::eval(*going_);
  going_ = made[0];
}

template <Evaluate kEvaluate>
Arrays MlxFrame::lower_primitive(uint32_t s) {
  const Step& step = plan_->steps[s];
  const std::shared_ptr<const BoundStep> bound = bound_step(s);
  Arrays inputs = inputs_of(step), outputs;
  const size_t n_outputs = bound->shapes.size() - bound->n_inputs;
  const auto type_of = [&](size_t o) { return bound->dtypes[bound->n_inputs + o]; };
  const auto shape_of = [&](size_t o) {
    return carried_shape(type_of(o), bound->shapes[bound->n_inputs + o]);
  };
  if (is_direct_) {
    for (size_t o = 0; o < n_outputs; ++o)
      outputs.emplace_back(shape_of(o), carried_dtype(type_of(o)), nullptr, Arrays{});
    for (uint32_t v : step.dead) arrays_[v].reset();  // what dies here may be written over
    kEvaluate(bound, run_, stream_, inputs, outputs);
    for (mx::array& y : outputs) y.set_status(mx::array::Status::available);
    return outputs;
  }
  auto primitive = std::make_shared<StepPrimitive<kEvaluate>>(stream_, bound, run_);
  if (n_outputs == 1) {
    outputs.emplace_back(shape_of(0), carried_dtype(type_of(0)), primitive, std::move(inputs));
    return outputs;
  }
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (size_t o = 0; o < n_outputs; ++o) {
    shapes.push_back(shape_of(o));
    dtypes.push_back(carried_dtype(type_of(o)));
  }
  return mx::array::make_arrays(std::move(shapes), dtypes, primitive, inputs);
}

void MlxFrame::build_step(uint32_t s) {
  const Step& step = plan_->steps[s];
  const bool is_late =
      step.way == Way::host || step.way == Way::reference || step.way == Way::control;
  for (uint32_t o = 0; o < plan_->graph.nodes()[step.node].outputs.size(); ++o) {
    const uint32_t v = plan_->value({step.node, o});
    if (!plan_->is_dynamic[v] || is_late) continue;
    shapes_[v] = shape_of(v);
    const Node& node = plan_->graph.nodes()[step.node];
    // Asking takes longer than a small step, so only what is large is asked for.
    constexpr size_t kWorthAsking = size_t{256} << 20;
    const size_t bytes = tensor_bytes(node.outputs[o].dtype, shapes_[v]);
    if (bytes >= kWorthAsking && !planned::view_rule(plan_->graph, node))
      check_memory(static_cast<int64_t>(bytes));
  }
  if (step.way == Way::host || step.way == Way::control) ++plan_->device->counters->host_steps;
  for (ValueId id : plan_->graph.nodes()[step.node].inputs)
    if (is_late && !id.absent()) plan_->cross(plan_->value(id), shapes_[plan_->value(id)]);
  switch (step.way) {
    case Way::sizes:
      return set_outputs(step, lower_sizes(step));
    case Way::core:
      return set_outputs(step, lower_core(step));
    case Way::bytes:
      return set_outputs(step, lower_bytes(step));
    case Way::view:
      return set_outputs(step, lower_primitive<evaluate_view>(s));
    case Way::primitive:
      return set_outputs(step, lower_primitive<evaluate_row>(s));
    case Way::joined:
      return;
    case Way::host:
      return run_host(s);
    case Way::control:
      return run_control_step(s);
    case Way::reference:
      return run_reference(s);
  }
}

// The value in its own type: rows that say so take and give f32 in bf16 where nothing is lost.
mx::array MlxFrame::typed(uint32_t value) const {
  const mx::array& x = *arrays_[value];
  if (!plan_->device->on_gpu()) return x;
  const mx::Dtype want = carried_dtype(plan_->graph.type(plan_->ids[value]).dtype);
  return x.dtype() == want ? x : mx::astype(x, want, stream_);
}

Arrays MlxFrame::inputs_of(const Step& step) const {
  const Node& node = plan_->graph.nodes()[step.node];
  if (step.way == Way::view) return {typed(plan_->value(node.inputs[0]))};
  Arrays inputs;
  for (ValueId id : node.inputs)
    if (!id.absent()) inputs.push_back(typed(plan_->value(id)));
  return inputs;
}

void MlxFrame::set_outputs(const Step& step, const Arrays& outputs) {
  const uint32_t n = static_cast<uint32_t>(plan_->graph.nodes()[step.node].outputs.size());
  for (uint32_t o = 0; o < n; ++o) arrays_[plan_->value({step.node, o})] = outputs[o];
  if (step.packed == kNone) return;
  const Step& pack = (&step)[1];
  arrays_[plan_->value({pack.node, 0})] = outputs[n];
}

Arrays MlxFrame::lower_sizes(const Step& step) {
  const Node& node = plan_->graph.nodes()[step.node];
  Arrays out;
  for (uint32_t o = 0; o < node.outputs.size(); ++o) {
    const DType dtype = node.outputs[o].dtype;
    const uint32_t v = plan_->value({step.node, o});
    const Tensor numbers(dtype, shapes_[v]);
    std::byte* to = numbers.data();
    for (Dim d : *node.known[o]) {
      store_int(dtype, to, evaluate(d, binding_));
      to += dtype.bytes();
    }
    out.push_back(plan_->device->memory->give(numbers));
  }
  return out;
}

Arrays MlxFrame::lower_core(const Step& step) {
  const Node& node = plan_->graph.nodes()[step.node];
  const bool takes_narrow = step.core->needs & kTakesNarrow;
  Arrays widened;
  widened.reserve(node.inputs.size());
  std::vector<const mx::array*> inputs;
  std::vector<const Tensor*> given;
  for (ValueId id : node.inputs) {
    const Held* held = id.absent() ? nullptr : &arrays_[plan_->value(id)];
    inputs.push_back(held && *held ? &**held : nullptr);
    given.push_back(id.absent() ? nullptr : given_[plan_->value(id)]);
    if (takes_narrow || !inputs.back()) continue;
    widened.push_back(typed(plan_->value(id)));
    inputs.back() = &widened.back();
  }
  LowerCx cx(plan_->graph, step.node, inputs, given, {step.in_place, &step.rounded}, lowering_);
  return step.core->lower(cx);
}

// A view of bytes: all of them, or whole rows of an encoding of one plane.
Arrays MlxFrame::lower_bytes(const Step& step) {
  const Graph& g = plan_->graph;
  const Node& node = g.nodes()[step.node];
  const planned::ViewRule* rule = planned::view_rule(g, node);
  const uint32_t x = plan_->value(node.inputs[0]);
  Arrays out;
  for (uint32_t o = 0; o < node.outputs.size(); ++o) {
    const uint32_t v = plan_->value({step.node, o});
    const DType dtype = node.outputs[o].dtype;
    if (!rule->apply) {
      out.push_back(*arrays_[x]);
      continue;
    }
    std::vector<int64_t> strides(shapes_[v].size()), dense(shapes_[x].size());
    planned::dense_strides(shapes_[x], dense);
    int64_t offset = 0;
    rule->apply(g, node, o, shapes_[x], dense, shapes_[v], binding_, strides, offset);
    const quant::Format* format = dtype.info().format;
    CHECK_USER(format, "mlx: no way runs ", g.describe(step.node), "; got ", dtype,
               "; want a type that MLX has, or an encoding");
    const int64_t k = shapes_[v].back();
    const int64_t at = k == 0 ? 0 : offset / k * format->blocks(k) * format->block_bytes();
    const int64_t n = static_cast<int64_t>(tensor_bytes(dtype, shapes_[v]));
    out.push_back(mx::slice(*arrays_[x], mlx_shape(std::vector<int64_t>{at}),
                            mlx_shape(std::vector<int64_t>{at + n}), stream_));
    if (is_direct_) mx::eval(out.back());
  }
  return out;
}

std::shared_ptr<const BoundStep> MlxFrame::bound_step(uint32_t s) {
  std::shared_ptr<const BoundStep>& cached = bound_steps_[s];
  if (cached) return cached;
  const Step& step = plan_->steps[s];
  const Node& node = plan_->graph.nodes()[step.node];
  auto bound = std::make_shared<BoundStep>();
  bound->plan = plan_;
  bound->step = s;
  // A view reads the sizes of its other inputs at compile time.
  const size_t n_read = step.way == Way::view ? 1 : node.inputs.size();
  bound->n_inputs = n_read;
  if (step.way == Way::view) bound->binding = binding_;
  bool is_dynamic = false;
  auto add = [&](ValueId id) {
    const uint32_t v = plan_->value(id);
    bound->dtypes.push_back(id.absent() ? DType{} : plan_->graph.type(id).dtype);
    bound->shapes.push_back(id.absent() ? std::vector<int64_t>{} : shapes_[v]);
    is_dynamic = is_dynamic || (!id.absent() && plan_->is_dynamic[v]);
  };
  for (size_t i = 0; i < n_read; ++i) add(node.inputs[i]);
  for (uint32_t o = 0; o < node.outputs.size(); ++o) add({step.node, o});
  if (step.packed != kNone) {
    bound->pack = bound_step(s + 1);
    bound->dtypes.push_back(bound->pack->dtypes.back());
    bound->shapes.push_back(bound->pack->shapes.back());
  }
  if (is_dynamic) return bound;
  cached = bound;
  return cached;
}

// Runs the row here: its inputs are computed first, and it says how large its outputs are.
void MlxFrame::run_host(uint32_t s) {
  const Step& step = plan_->steps[s];
  const Node& node = plan_->graph.nodes()[step.node];
  Arrays inputs = inputs_of(step);
  evaluate_now(inputs);
  Operands operands(bound_step(s), inputs, {});
  operands.make_dense(plan_->device->cpu);
  host_operands_.assign(operands.all().begin(), operands.all().end());
  host_outputs_.assign(node.outputs.size(), Tensor());
  run_->launch(operands.bound(), host_operands_, this);
  run_->finish();
  for (size_t o = 0; o < host_outputs_.size(); ++o) adopt(step, o, host_outputs_[o]);
  check_constraints();
}

const planned::Operand& MlxFrame::allocate(uint32_t s, size_t out, std::span<const int64_t> shape) {
  const Step& step = plan_->steps[s];
  const Node& node = plan_->graph.nodes()[step.node];
  Tensor& made = host_outputs_[out];
  made = Tensor(node.outputs[out].dtype, {shape.begin(), shape.end()});
  planned::Operand& operand = host_operands_[node.inputs.size() + out];
  operand = {made.data(), made.shape().data(), made.strides().data(),
             static_cast<uint32_t>(made.rank()), made.dtype()};
  return operand;
}

// Makes `tensor` the value of an output, and binds the symbols of its type.
void MlxFrame::adopt(const Step& step, size_t out, const Tensor& tensor) {
  const uint32_t v = plan_->value({step.node, static_cast<uint32_t>(out)});
  bind_shape(plan_->graph.type(plan_->ids[v]), tensor.shape(), binding_,
             plan_->graph.describe(step.node));
  shapes_[v] = tensor.shape();
  plan_->cross(v, tensor.shape());
  arrays_[v] = plan_->device->memory->give(tensor);
}

void MlxFrame::run_reference(uint32_t s) {
  const Step& step = plan_->steps[s];
  std::vector<RefTensor> inputs;
  for (ValueId id : plan_->graph.nodes()[step.node].inputs)
    if (!id.absent()) inputs.push_back(RefTensor::from(tensor_at(plan_->value(id))));
  const std::vector<RefTensor> outputs =
      evaluate_body(*step.meaning, std::move(inputs), binding_, cancel_);
  for (size_t o = 0; o < outputs.size(); ++o) adopt(step, o, outputs[o].to_tensor());
}

void MlxFrame::run_control_step(uint32_t s) {
  const Step& step = plan_->steps[s];
  const Node& node = plan_->graph.nodes()[step.node];
  std::vector<Tensor> inputs;
  for (ValueId id : node.inputs)
    inputs.push_back(id.absent() ? Tensor() : tensor_at(plan_->value(id)));
  auto& frames = body_frames_[s];
  if (frames.empty())
    for (const auto& body : step.bodies) frames.push_back(std::make_unique<MlxFrame>(body));
  std::vector<planned::RunBody> bodies;
  for (const auto& frame : frames) {
    frame->cancel_with(cancel_);
    bodies.push_back([&frame](std::vector<Tensor> given, const DimBinding& outer) {
      return frame->run_body(std::move(given), outer);
    });
  }
  const std::vector<Tensor> outputs =
      planned::run_control(node, std::move(inputs), bodies, binding_);
  for (size_t o = 0; o < outputs.size(); ++o) adopt(step, o, outputs[o].contiguous());
}

}  // namespace lamella::on_mlx
