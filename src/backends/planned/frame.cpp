// Binding, placing and running. A run whose sizes are those of the run before binds and places
// nothing.
#include "lamella/backends/planned/frame.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/text.h"
#include "lamella/ops/evaluate.h"

namespace lamella::planned {
namespace {

std::byte* allocate_arena(int64_t bytes) {
  void* memory = allocate_aligned(static_cast<size_t>(std::max<int64_t>(bytes, 0)));
  if (!memory)
    throw DeviceError(str("run: intermediate values of these sizes need ",
                          human_bytes(static_cast<uint64_t>(bytes)), "; got ",
                          human_bytes(static_cast<uint64_t>(available_memory_bytes())),
                          " of free memory; hint: smaller sizes"));
  return static_cast<std::byte*>(memory);
}

}  // namespace

void FrameState::ArenaFree::operator()(std::byte* p) const { std::free(p); }

FrameState::FrameState(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
  const Plan& p = *plan_;
  sizes_.resize(p.n_sizes);
  strides_.resize(p.n_sizes);
  bytes_.resize(p.values.size());
  offsets_.resize(p.values.size());
  externals_.resize(p.values.size());
  slots_.resize(p.buffers.size());
  arenas_.resize(p.segments.size());
  arena_sizes_.resize(p.segments.size());
  for (const Segment& s : p.segments) results_.emplace_back(s.dims.size());
  dynamic_.resize(p.n_dynamic);
  next_states_.resize(p.next_states.size());
  made_outputs_.resize(p.graph.outputs().size());
  workspace_bytes_.resize(p.steps.size());
  body_frames_.resize(p.steps.size());
  addresses_.resize(p.values.size());
  for (const Step& s : p.steps) {
    first_operand_.push_back(static_cast<uint32_t>(operands_.size()));
    operand_values_.insert(operand_values_.end(), s.operands.begin(), s.operands.end());
    for (uint32_t value : s.operands) {
      Operand& operand = operands_.emplace_back();
      if (value == kNone) continue;
      const ValuePlan& v = p.values[value];
      operand = {nullptr, sizes_.data() + v.sizes, strides_.data() + v.sizes, v.rank, v.dtype};
    }
  }
  first_operand_.push_back(static_cast<uint32_t>(operands_.size()));
  for (uint32_t v : p.static_values) set_static(v);
  for (uint32_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].home == Home::constant)
      externals_[v] = p.graph.nodes()[p.values[v].node].attrs.as<Constant::Attrs>().value.data();
}

FrameState::~FrameState() = default;

void FrameState::set_static(uint32_t v) {
  const ValuePlan& value = plan_->values[v];
  const Type& type = plan_->graph.nodes()[value.node].outputs[value.out];
  for (uint32_t d = 0; d < value.rank; ++d) sizes_[value.sizes + d] = type.shape.dims[d].value();
  set_strides(v);
  if (value.home != Home::constant && type.is_tensor() && !type.dtype.is_string())
    bytes_[v] = type.bytes().value();
}

int64_t FrameState::arena_bytes() const {
  int64_t sum = workspace_capacity_;
  for (int64_t bytes : arena_sizes_) sum += bytes;
  return sum;
}

void FrameState::bind(const RunArgs& args) {
  if (!bind_inputs(args)) {
    is_bound_ = false;
    bind_segment(0);
    is_bound_ = true;
    ++n_binds_;
  }
  set_externals(args);
  prepare_results(args, 0);
  if (!pointers_valid_) set_pointers();
}

namespace {

// The tensor of the plan's i-th given value.
const Tensor& given_tensor(const RunArgs& args, size_t i) {
  if (i < args.inputs.size()) return args.inputs[i];
  i -= args.inputs.size();
  return i < args.states.size() ? args.states[i] : args.parameters[i - args.states.size()];
}

}  // namespace

// True when every size is as in the last run.
bool FrameState::bind_inputs(const RunArgs& args) {
  const Graph& g = plan_->graph;
  bound_shapes_.resize(plan_->given.size());
  changed_.clear();
  for (uint32_t i = 0; i < plan_->given.size(); ++i) {
    const GivenPlan& given = plan_->given[i];
    const Tensor& tensor = given_tensor(args, i);
    CHECK_USER(!tensor.empty_handle(), "run: '", g.input_name(given.id), "' was not given; want ",
               g.type(given.id));
    CHECK_USER(tensor.dtype() == plan_->values[given.value].dtype, "run: '", g.input_name(given.id),
               "' has the wrong element type; got ", tensor.dtype(), "; want ", g.type(given.id));
    if (!(is_bound_ || (given.is_static && statics_fit_)) || tensor.shape() != bound_shapes_[i])
      changed_.push_back(i);
  }
  if (is_bound_ && changed_.empty()) return true;
  bind_symbols(args);
  return false;
}

void FrameState::bind_symbols(const RunArgs& args) {
  const Graph& g = plan_->graph;
  is_bound_ = statics_fit_ = false;
  for (uint32_t i : changed_) bound_shapes_[i] = given_tensor(args, i).shape();
  binding_ = outer_;
  binding_.resize(g.dims()->n_symbols());
  // Symbols first, so that a size given as an expression is checked against them whatever the
  // order.
  for (uint32_t i : plan_->symbolic_given) {
    const GivenPlan& given = plan_->given[i];
    const Shape& want = g.type(given.id).shape;
    for (size_t d = 0; d < bound_shapes_[i].size() && d < want.rank(); ++d) {
      const Dim dim = want.dims[d];
      if (!dim.is_const() && dim.expr()->kind == DimKind::symbol && !binding_[dim.expr()->symbol])
        bind_shape(Type(kI64, Shape{dim}), {bound_shapes_[i][d]}, binding_,
                   "run: '" + g.input_name(given.id) + "'");
    }
  }
  for (uint32_t i : plan_->symbolic_given) check_given(i);
  for (uint32_t i : changed_)
    if (plan_->given[i].is_static) check_given(i);
  statics_fit_ = true;
}

// All symbols of given values are bound.
void FrameState::check_given(uint32_t i) {
  const Graph& g = plan_->graph;
  const GivenPlan& given = plan_->given[i];
  const std::vector<int64_t>& shape = bound_shapes_[i];
  const Shape& want = g.type(given.id).shape;
  bool fits = shape.size() == want.rank();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    const Dim dim = want.dims[d];
    const bool is_symbol = !dim.is_const() && dim.expr()->kind == DimKind::symbol;
    fits = (is_symbol ? *binding_[dim.expr()->symbol] : evaluate(dim, binding_)) == shape[d];
  }
  if (!fits) bind_shape(g.type(given.id), shape, binding_, "run: '" + g.input_name(given.id) + "'");
}

void FrameState::bind_segment(uint32_t s) {
  const Segment& segment = plan_->segments[s];
  symbols_.assign(plan_->graph.dims()->n_symbols(), 0);
  for (size_t i = 0; i < binding_.size(); ++i) symbols_[i] = binding_[i].value_or(0);
  std::vector<int64_t>& results = results_[s];
  segment.dims.run(symbols_, results);
  for (size_t i = 0; i < segment.constraints.size(); ++i) {
    const auto [a, b] = segment.constraint_results[i];
    const int64_t va = results[a], vb = results[b];
    const Constraint& c = segment.constraints[i];
    bool holds = va == vb;
    if (c.kind == Constraint::Kind::broadcast) holds = holds || va == 1 || vb == 1;
    if (c.kind == Constraint::Kind::at_least) holds = va >= vb;
    if (!holds) check_constraint(plan_->graph, c, binding_);
  }
  for (auto [place, result] : segment.sizes) sizes_[place] = results[result];
  for (auto [v, result] : segment.bytes) bytes_[v] = results[result];
  check_sizes(segment);
  for (uint32_t v : segment.values) set_strides(v);
  place_segment(s);
  find_workspaces(s);
  pointers_valid_ = false;
}

void FrameState::check_sizes(const Segment& segment) {
  const auto negative = [&](const auto& size) { return sizes_[size.first] < 0; };
  if (std::none_of(segment.sizes.begin(), segment.sizes.end(), negative)) return;
  for (uint32_t v : segment.values) {
    const ValuePlan& value = plan_->values[v];
    for (uint32_t d = 0; d < value.rank; ++d)
      CHECK_USER(sizes_[value.sizes + d] >= 0, plan_->graph.describe(value.node),
                 ": negative size; got ", sizes_[value.sizes + d], " at axis ", d);
  }
}

void FrameState::set_strides(uint32_t v) {
  const ValuePlan& value = plan_->values[v];
  const std::span<const int64_t> shape(sizes_.data() + value.sizes, value.rank);
  const std::span<int64_t> strides(strides_.data() + value.sizes, value.rank);
  offsets_[v] = 0;
  if (value.home == Home::dynamic) return;
  if (!value.view) return dense_strides(shape, strides);
  const ValuePlan& base = plan_->values[value.base];
  int64_t offset = 0;
  value.view->apply(plan_->graph, plan_->graph.nodes()[value.node], value.out,
                    {sizes_.data() + base.sizes, base.rank},
                    {strides_.data() + base.sizes, base.rank}, shape, binding_, strides, offset);
  const quant::Format* format = value.dtype.info().format;
  if (!format) {
    offsets_[v] = offset * value.dtype.bytes();
    return;
  }
  // Whole rows of an encoded tensor of one plane.
  const int64_t k = shape.back();
  offsets_[v] = k == 0 ? 0 : offset / k * format->blocks(k) * format->block_bytes();
}

// Keeps the placement while every buffer still fits its slot. There is no arena after a run whose
// sizes were too large.
void FrameState::place_segment(uint32_t s) {
  const std::vector<uint32_t>& mine = plan_->segments[s].buffers;
  const bool fits = std::all_of(mine.begin(), mine.end(), [&](uint32_t b) {
    return bytes_[plan_->buffers[b].value] <= slots_[b].capacity;
  });
  if (fits && (arenas_[s] || mine.empty())) return;
  ++n_placements_;
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(mine.size());
  for (uint32_t b : mine)
    lifetimes.push_back(
        {bytes_[plan_->buffers[b].value], plan_->buffers[b].first, plan_->buffers[b].last, 0});
  const int64_t total = place(lifetimes);
  for (size_t i = 0; i < mine.size(); ++i)
    slots_[mine[i]] = {lifetimes[i].offset, lifetimes[i].bytes};
  if (total > arena_sizes_[s] || !arenas_[s]) {
    arenas_[s].reset();
    arenas_[s].reset(allocate_arena(total));
    arena_sizes_[s] = total;
  }
}

void FrameState::find_workspaces(uint32_t s) {
  int64_t most = 0;
  for (uint32_t i : plan_->segments[s].workspaces) {
    const Step& step = plan_->steps[i];
    const StepCx cx(plan_->graph.nodes()[step.node], operands(i), step.prepared.get(), nullptr,
                    plan_->device.get(), this, i, n_inputs(step));
    most = std::max(most, step.row->workspace(cx));
  }
  if (most <= workspace_capacity_) return;
  workspace_.reset();
  workspace_capacity_ = 0;
  workspace_.reset(allocate_arena(most));
  workspace_capacity_ = most;
}

void FrameState::set_external(uint32_t v, std::byte* data) {
  if (data == externals_[v]) return;
  externals_[v] = data;
  pointers_valid_ = false;
}

void FrameState::set_externals(const RunArgs& args) {
  for (size_t i = 0; i < plan_->given.size(); ++i)
    set_external(plan_->given[i].value, given_tensor(args, i).data());
}

// Memory for the values that leave the run: the caller's where lent, else new.
void FrameState::prepare_results(const RunArgs& args, uint32_t segment) {
  const Plan& p = *plan_;
  for (uint32_t v : p.segments[segment].results) {
    const ValuePlan& value = p.values[v];
    if (value.home == Home::output) {
      Tensor& out = args.outputs[value.index];
      if (out.empty_handle()) out = Tensor(value.dtype, shape_of(v));
      CHECK_USER(out.dtype() == value.dtype && out.shape() == shape_of(v) && out.is_contiguous(),
                 "run: the tensor given for output '", p.graph.outputs()[value.index].name,
                 "' does not fit; want ", value.dtype, " of ", bytes_[v], " bytes, dense");
      set_external(v, out.data());
      continue;
    }
    Tensor& next = next_states_[value.index];
    if (next.empty_handle() || next.shape() != shape_of(v) || next.storage().use_count() > 1)
      next = Tensor(value.dtype, shape_of(v));
    set_external(v, next.data());
  }
}

std::byte* FrameState::address(uint32_t v) const {
  const ValuePlan& value = plan_->values[v];
  switch (value.home) {
    case Home::alias: {
      std::byte* base = address(value.base);
      return base ? base + offsets_[v] : nullptr;
    }
    case Home::arena: {
      const BufferPlan& b = plan_->buffers[value.index];
      return arenas_[b.segment] ? arenas_[b.segment].get() + slots_[value.index].offset : nullptr;
    }
    case Home::dynamic: {
      const Tensor& t = dynamic_[value.index];
      return t.empty_handle() ? nullptr : t.data();
    }
    default:
      return externals_[v];
  }
}

void FrameState::set_pointers() {
  // A base stands before its aliases.
  for (uint32_t v = 0; v < addresses_.size(); ++v) {
    const ValuePlan& value = plan_->values[v];
    if (value.home != Home::alias) {
      addresses_[v] = address(v);
    } else {
      std::byte* base = addresses_[value.base];
      addresses_[v] = base ? base + offsets_[v] : nullptr;
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i)
    if (operand_values_[i] != kNone) operands_[i].data = addresses_[operand_values_[i]];
  pointers_valid_ = true;
}

std::vector<int64_t> FrameState::shape_of(uint32_t v) const {
  const ValuePlan& value = plan_->values[v];
  const int64_t* first = sizes_.data() + value.sizes;
  return {first, first + value.rank};
}

uint32_t FrameState::n_inputs(const Step& step) const {
  if (step.kind == StepKind::sizes) return 0;
  if (step.kind == StepKind::copy) return 1;
  return static_cast<uint32_t>(plan_->graph.nodes()[step.node].inputs.size());
}

}  // namespace lamella::planned
