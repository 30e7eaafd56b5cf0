// Binding and running. A run whose sizes are those of the run before binds nothing.
#include "lamella/backends/mlx/frame.h"

#include <mlx/backend/metal/metal.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <cstring>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_kernel.h"
#include "lamella/backends/mlx/turn_tables.h"
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/ops/evaluate.h"

namespace lamella::on_mlx {
namespace {

const Tensor& given_tensor(const RunArgs& args, size_t i) {
  if (i < args.inputs.size()) return args.inputs[i];
  i -= args.inputs.size();
  return i < args.states.size() ? args.states[i] : args.parameters[i - args.states.size()];
}

// Inputs, then states, then parameters.
std::vector<ValueId> given_values(const Graph& g) {
  std::vector<ValueId> out(g.inputs());
  for (const StateSlot& s : g.states()) out.push_back(s.in);
  out.insert(out.end(), g.parameters().begin(), g.parameters().end());
  return out;
}

bool appends(const Plan& plan, ValueId state) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.in_place && plan.graph.nodes()[step.node].inputs[step.updates] == state;
  });
}

}  // namespace

MlxFrame::MlxFrame(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      stream_(plan_->device->streams->take()),
      is_direct_(!plan_->has_core && plan_->device->mode != MlxMode::compiled &&
                 !plan_->device->on_gpu()),
      lowering_{stream_,
                plan_->device->mode != MlxMode::compiled,
                *plan_->device->reencoded,
                *plan_->device->memory,
                binding_,
                {},
                {},
                {},
                std::make_shared<KernelCache>(),
                std::make_shared<TurnTables>(),
                plan_->device->emulation} {
  shapes_.resize(plan_->n_values);
  arrays_.resize(plan_->n_values);
  constants_.resize(plan_->n_values);
  parameters_.resize(plan_->graph.parameters().size());
  given_.resize(plan_->n_values);
  given_ids_ = given_values(plan_->graph);
  bound_steps_.resize(plan_->steps.size());
  body_frames_.resize(plan_->steps.size());
  traces_.resize(plan_->regions.size());
  for (const StateSlot& s : plan_->graph.states()) is_appended_.push_back(appends(*plan_, s.in));
}

MlxFrame::~MlxFrame() { plan_->device->streams->give_back(stream_); }

void MlxFrame::run(const RunArgs& args) {
  if (plan_->device->mode != MlxMode::compiled) return run_here(args);
  if (!home_) home_ = std::make_unique<HomeThread>();
  home_->run([&] { run_here(args); });
}

void MlxFrame::run_here(const RunArgs& args) {
  const Graph& g = plan_->graph;
  CHECK_USER(
      args.inputs.size() == g.inputs().size() && args.parameters.size() == g.parameters().size() &&
          args.states.size() == g.states().size() && args.outputs.size() == g.outputs().size(),
      "run: got ", args.inputs.size(), " inputs, ", args.parameters.size(), " parameters, ",
      args.states.size(), " states and ", args.outputs.size(), " outputs; want ", g.inputs().size(),
      ", ", g.parameters().size(), ", ", g.states().size(), " and ", g.outputs().size());
  check_cancelled(cancel_);
  // MLX would make a stream, and a thread, for every thread that evaluates.
  mx::set_default_stream(stream_);
  lowering_.start();
  effects_.clear();
  try {
    bind(args);
    run_->start(cancel_, spans_, !plan_->has_core);
    give(args);
    build();
    finish(args);
  } catch (const Error&) {
    forget_run();
    throw;
  } catch (const std::exception& e) {
    forget_run();
    throw DeviceError(str("mlx: ", e.what()));
  }
  std::fill(arrays_.begin(), arrays_.end(), std::nullopt);
  going_.reset();
}

void MlxFrame::forget_run() {
  going_.reset();
  // What was set going reads what the caller gave, and reports into run_.
  if (!is_direct_) mx::synchronize(stream_);
  is_bound_ = false;
  restore_states();
  std::fill(arrays_.begin(), arrays_.end(), std::nullopt);
}

void MlxFrame::bind(const RunArgs& args) {
  const Graph& g = plan_->graph;
  const std::vector<ValueId>& ids = given_ids_;
  given_shapes_.resize(ids.size());
  bool same = is_bound_;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Tensor& tensor = given_tensor(args, i);
    CHECK_USER(!tensor.empty_handle(), "run: '", g.input_name(ids[i]), "' was not given; want ",
               g.type(ids[i]));
    CHECK_USER(tensor.dtype() == g.type(ids[i]).dtype, "run: '", g.input_name(ids[i]),
               "' has the wrong element type; got ", tensor.dtype(), "; want ", g.type(ids[i]));
    same = same && tensor.shape() == given_shapes_[i];
  }
  if (same) return;
  is_bound_ = false;
  for (size_t i = 0; i < ids.size(); ++i) given_shapes_[i] = given_tensor(args, i).shape();
  bind_symbols();
  check_constraints();
  set_shapes();
  check_memory();
  std::fill(bound_steps_.begin(), bound_steps_.end(), nullptr);
  is_bound_ = true;
}

void MlxFrame::bind_symbols() {
  const Graph& g = plan_->graph;
  const std::vector<ValueId>& ids = given_ids_;
  binding_ = outer_;
  binding_.resize(g.dims()->n_symbols());
  // Plain symbols first, so that a size given as an expression is checked against them whatever
  // the order.
  for (size_t i = 0; i < ids.size(); ++i) {
    const Shape& want = g.type(ids[i]).shape;
    for (size_t d = 0; d < given_shapes_[i].size() && d < want.rank(); ++d) {
      const Dim dim = want.dims[d];
      if (!dim.is_const() && dim.expr()->kind == DimKind::symbol && !binding_[dim.expr()->symbol])
        bind_shape(Type(kI64, Shape{dim}), {given_shapes_[i][d]}, binding_,
                   "run: '" + g.input_name(ids[i]) + "'");
    }
  }
  for (size_t i = 0; i < ids.size(); ++i)
    bind_shape(g.type(ids[i]), given_shapes_[i], binding_, "run: '" + g.input_name(ids[i]) + "'");
}

void MlxFrame::check_constraints() {
  for (const Constraint& c : plan_->graph.constraints())
    check_constraint(plan_->graph, c, binding_);
}

void MlxFrame::check_memory() { check_memory(plan_->peak_bytes(binding_)); }

// MLX ends the process, or swaps, where memory runs out.
void MlxFrame::check_memory(int64_t wanted) {
  const int64_t free = plan_->device->memory->available_bytes();
  if (wanted <= free) return;
  throw DeviceError(str("mlx: the run needs ", human_bytes(static_cast<uint64_t>(wanted)),
                        " for its values; got ", human_bytes(static_cast<uint64_t>(free)),
                        " of free memory; hint: smaller inputs"));
}

void MlxFrame::set_shapes() {
  for (uint32_t v = 0; v < plan_->n_values; ++v)
    if (!plan_->is_dynamic[v]) shapes_[v] = shape_of(v);
}

std::vector<int64_t> MlxFrame::shape_of(uint32_t value) const {
  const ValueId id = plan_->ids[value];
  std::vector<int64_t> shape;
  for (Dim d : plan_->graph.type(id).shape) {
    const int64_t size = evaluate(d, binding_);
    CHECK_USER(size >= 0, plan_->graph.describe(id.node), ": negative size; got ", size);
    shape.push_back(size);
  }
  return shape;
}

// What the run was given, as arrays over the same bytes.
void MlxFrame::give(const RunArgs& args) {
  const Graph& g = plan_->graph;
  DeviceMemory& memory = *plan_->device->memory;
  for (size_t i = 0; i < given_ids_.size(); ++i)
    given_[plan_->value(given_ids_[i])] = &given_tensor(args, i);
  give_inputs(args);
  for (size_t i = 0; i < args.inputs.size(); ++i)
    plan_->cross(plan_->value(g.inputs()[i]), args.inputs[i].shape());
  if (memory.on_gpu()) take_states(args);
  for (size_t i = 0; i < args.states.size() && !memory.on_gpu(); ++i)
    arrays_[plan_->value(g.states()[i].in)] = memory.give(args.states[i]);
  for (size_t i = 0; i < args.parameters.size(); ++i) {
    auto& [data, held] = parameters_[i];
    if (!held || data != args.parameters[i].data()) {
      data = args.parameters[i].data();
      held = memory.weight(args.parameters[i]);
    }
    arrays_[plan_->value(g.parameters()[i])] = held;
  }
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    if (!g.nodes()[i].is(op<Constant>)) continue;
    Held& held = constants_[plan_->value({i, 0})];
    const Tensor& value = g.nodes()[i].attrs.as<Constant::Attrs>().value;
    given_[plan_->value({i, 0})] = &value;
    if (!held) held = memory.weight(value);
    arrays_[plan_->value({i, 0})] = held;
  }
}

// On a GPU all indices and lengths are one array: each array of the caller's costs a fault on
// either side, as long as a product takes.
void MlxFrame::give_inputs(const RunArgs& args) {
  constexpr size_t kAligned = 4;  // elements
  const Graph& g = plan_->graph;
  DeviceMemory& memory = *plan_->device->memory;
  std::vector<int32_t> all;
  std::vector<size_t> at(args.inputs.size(), 0);
  const auto is_packed = [&](const Tensor& t) {
    return memory.on_gpu() && t.dtype() == kI32 && t.numel() > 0 && t.is_contiguous();
  };
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const Tensor& t = args.inputs[i];
    if (!is_packed(t)) continue;
    at[i] = all.size();
    all.insert(all.end(), t.as<int32_t>(), t.as<int32_t>() + t.numel());
    all.resize((all.size() + kAligned - 1) / kAligned * kAligned);
  }
  Held packed;
  if (!all.empty() && all.size() <= kMostNumbers && !mx::metal::is_available())
    packed = numbers_array(lowering_, all);
  else if (!all.empty())
    packed = memory.give(Tensor::copy_of(kI32, {static_cast<int64_t>(all.size())}, all.data()));
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const Tensor& t = args.inputs[i];
    Held& array = arrays_[plan_->value(g.inputs()[i])];
    if (!is_packed(t)) {
      array = memory.give(t);
      continue;
    }
    const int from = static_cast<int>(at[i]), end = from + static_cast<int>(t.numel());
    array = mx::reshape(mx::slice(*packed, {from}, {end}, stream_), mlx_shape(t.shape()), stream_);
  }
}

void MlxFrame::evaluate_now(Arrays arrays) {
  if (!arrays.empty() && !is_direct_) mx::eval(std::move(arrays));
  run_->finish();
}

// The value as a tensor, computed now.
Tensor MlxFrame::tensor_at(uint32_t value) {
  arrays_[value] = typed(value);
  evaluate_now({*arrays_[value]});
  return tensor_of(plan_->graph.type(plan_->ids[value]).dtype, shapes_[value], *arrays_[value],
                   *plan_->device->cpu.pool);
}

// Later runs may append there.
bool MlxFrame::is_state_memory(uint32_t value) const {
  return std::any_of(plan_->graph.states().begin(), plan_->graph.states().end(),
                     [&](const StateSlot& s) {
                       const Held& next = arrays_[plan_->value(s.out)];
                       return next && next->data_shared_ptr() == arrays_[value]->data_shared_ptr();
                     });
}

void MlxFrame::put(uint32_t value, Tensor& to) {
  const bool is_owned =
      arrays_[value]->flags().row_contiguous && arrays_[value]->data_shared_ptr()->is_owned();
  const bool is_lent = to.empty_handle() && is_owned && !is_state_memory(value);
  Tensor made = tensor_of(plan_->graph.type(plan_->ids[value]).dtype, shapes_[value],
                          *arrays_[value], *plan_->device->cpu.pool);
  if (to.empty_handle() && is_owned && !is_lent) made = made.clone();
  if (!is_lent) plan_->device->counters->copied_bytes += static_cast<int64_t>(made.bytes());
  if (plan_->device->on_gpu())
    plan_->device->counters->downloaded_bytes += static_cast<int64_t>(made.bytes());
  if (to.empty_handle()) {
    to = made;
    return;
  }
  CHECK_USER(to.dtype() == made.dtype() && to.shape() == made.shape() && to.is_contiguous(),
             "run: the tensor given for an output does not fit; want ", made.dtype(), " of ",
             made.bytes(), " bytes, dense");
  if (made.bytes() > 0) std::memcpy(to.data(), made.data(), made.bytes());
}

void MlxFrame::finish(const RunArgs& args) {
  const Graph& g = plan_->graph;
  for (const NamedValue& o : g.outputs()) arrays_[plan_->value(o.id)] = typed(plan_->value(o.id));
  Arrays wanted = effects_;
  for (const NamedValue& o : g.outputs()) wanted.push_back(*arrays_[plan_->value(o.id)]);
  for (const StateSlot& s : g.states()) wanted.push_back(*arrays_[plan_->value(s.out)]);
  for (const IndexCheck& c : lowering_.checks) wanted.push_back(c.is_bad);
  effects_.clear();
  evaluate_now(std::move(wanted));
  check_indices();
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    put(plan_->value(g.outputs()[i].id), args.outputs[i]);
    plan_->cross(plan_->value(g.outputs()[i].id), args.outputs[i].shape());
  }
  // States are replaced only now, when everything has succeeded.
  if (plan_->device->on_gpu()) return keep_states(args);
  for (size_t i = 0; i < args.states.size(); ++i) {
    const mx::array& next = *arrays_[plan_->value(g.states()[i].out)];
    if (bytes_of(next) == args.states[i].data()) continue;
    args.states[i] =
        tensor_of(args.states[i].dtype(), args.states[i].shape(), next, *plan_->device->cpu.pool);
  }
}

void MlxFrame::check_indices() {
  if (lowering_.checks.empty()) return;
  Arrays bad;
  for (const IndexCheck& c : lowering_.checks) bad.push_back(c.is_bad);
  mx::array is_any = mx::any(mx::stack(bad, stream_), stream_);
  if (!is_any.item<bool>()) return;
  for (const IndexCheck& c : std::exchange(lowering_.checks, {})) {
    if (!mx::array(c.is_bad).item<bool>()) continue;
    const mx::array all = mx::contiguous(mx::astype(c.indices, mx::int64, stream_), false, stream_);
    evaluate_now({all});
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t index = all.data<int64_t>()[i];
      CHECK_USER(index >= c.least && index < c.size, plan_->graph.describe(c.node), ": ",
                 planned::message_of({c.problem, static_cast<int64_t>(i), index}));
    }
  }
}

std::vector<Tensor> MlxFrame::run_body(std::vector<Tensor> inputs, const DimBinding& outer) {
  if (outer != outer_) {
    outer_ = outer;
    is_bound_ = false;
  }
  std::vector<Tensor> outputs(plan_->graph.outputs().size());
  run_here({inputs, {}, {}, outputs});
  return outputs;
}

}  // namespace lamella::on_mlx
