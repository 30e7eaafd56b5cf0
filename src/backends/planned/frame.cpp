// Binding, placing and running. A run whose sizes are those of the run before binds and places
// nothing.
#include "lamella/backends/planned/frame.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/evaluate.h"

namespace lamella::planned {
namespace {

std::byte* allocate_aligned(int64_t bytes) {
  const size_t size = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, size);
  if (!memory) throw DeviceError(str("cpu: out of memory; want ", bytes, " bytes for the arena"));
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
  for (const Step& s : p.steps) {
    std::vector<Operand> operands(s.operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (s.operands[i] == kNone) continue;
      const ValuePlan& v = p.values[s.operands[i]];
      operands[i] = {nullptr, sizes_.data() + v.sizes, strides_.data() + v.sizes, v.rank, v.dtype};
    }
    operands_.push_back(std::move(operands));
  }
  for (uint32_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].home == Home::constant)
      externals_[v] = p.graph.nodes()[p.values[v].node].attrs.as<Constant::Attrs>().value.data();
}

FrameState::~FrameState() = default;

int64_t FrameState::arena_bytes() const {
  int64_t sum = workspace_capacity_;
  for (int64_t bytes : arena_sizes_) sum += bytes;
  return sum;
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
    if (!bind_inputs(args)) {
      is_bound_ = false;
      bind_segment(0);
      is_bound_ = true;
      ++n_binds_;
    }
    set_externals(args);
    run_steps(args);
    finish(args);
  } catch (...) {
    is_bound_ = false;
    throw;
  }
}

// True when every size is as in the last run.
bool FrameState::bind_inputs(const RunArgs& args) {
  const Graph& g = plan_->graph;
  const size_t n_inputs = args.inputs.size();
  auto tensor = [&](size_t i) -> const Tensor& {
    if (i < n_inputs) return args.inputs[i];
    i -= n_inputs;
    return i < args.states.size() ? args.states[i] : args.parameters[i - args.states.size()];
  };
  auto id = [&](size_t i) {
    if (i < n_inputs) return g.inputs()[i];
    i -= n_inputs;
    return i < args.states.size() ? g.states()[i].in : g.parameters()[i - args.states.size()];
  };
  const size_t n = n_inputs + args.states.size() + args.parameters.size();
  bool same = is_bound_ && bound_shapes_.size() == n;
  for (size_t i = 0; i < n; ++i) {
    CHECK_USER(!tensor(i).empty_handle(), "run: '", g.input_name(id(i)), "' was not given; want ",
               g.type(id(i)));
    CHECK_USER(tensor(i).dtype() == g.type(id(i)).dtype, "run: '", g.input_name(id(i)),
               "' has the wrong element type; got ", tensor(i).dtype(), "; want ", g.type(id(i)));
    same = same && tensor(i).shape() == bound_shapes_[i];
  }
  if (same) return true;
  binding_ = outer_;
  binding_.resize(g.dims()->n_symbols());
  bound_shapes_.clear();
  for (size_t i = 0; i < n; ++i) {
    // Symbols first, so that a size given as an expression is checked against them whatever the
    // order.
    bound_shapes_.push_back(tensor(i).shape());
    for (size_t d = 0; d < tensor(i).rank() && d < g.type(id(i)).rank(); ++d) {
      const Dim dim = g.type(id(i)).shape.dims[d];
      if (!dim.is_const() && dim.expr()->kind == DimKind::symbol && !binding_[dim.expr()->symbol])
        bind_shape(Type(kI64, Shape{dim}), {tensor(i).shape()[d]}, binding_,
                   "run: '" + g.input_name(id(i)) + "'");
    }
  }
  for (size_t i = 0; i < n; ++i)
    bind_shape(g.type(id(i)), tensor(i).shape(), binding_, "run: '" + g.input_name(id(i)) + "'");
  return false;
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
  for (auto [place, result] : segment.sizes)
    if (sizes_[place] < 0)
      for (uint32_t v : segment.values) {
        const ValuePlan& value = plan_->values[v];
        CHECK_USER(place < value.sizes || place >= value.sizes + value.rank,
                   plan_->graph.describe(value.node), ": negative size; got ", sizes_[place],
                   " at axis ", place - value.sizes);
      }
}

void FrameState::set_strides(uint32_t v) {
  const ValuePlan& value = plan_->values[v];
  const std::span<const int64_t> shape(sizes_.data() + value.sizes, value.rank);
  const std::span<int64_t> strides(strides_.data() + value.sizes, value.rank);
  offsets_[v] = 0;
  if (value.home != Home::alias) {
    if (value.home != Home::dynamic) dense_strides(shape, strides);
    return;
  }
  const Node& node = plan_->graph.nodes()[value.node];
  const ViewRule* rule = view_rule(plan_->graph, node);
  if (!rule || !rule->apply) return dense_strides(shape, strides);
  const ValuePlan& base = plan_->values[value.base];
  int64_t offset = 0;
  rule->apply(plan_->graph, node, value.out, {sizes_.data() + base.sizes, base.rank},
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

// Keeps the placement while every buffer still fits its slot.
void FrameState::place_segment(uint32_t s) {
  bool fits = true;
  std::vector<uint32_t> mine;
  for (uint32_t b = 0; b < plan_->buffers.size(); ++b) {
    if (plan_->buffers[b].segment != s) continue;
    mine.push_back(b);
    fits = fits && bytes_[plan_->buffers[b].value] <= slots_[b].capacity;
  }
  if (fits) return;
  ++n_placements_;
  std::vector<Lifetime> lifetimes;
  for (uint32_t b : mine)
    lifetimes.push_back(
        {bytes_[plan_->buffers[b].value], plan_->buffers[b].first, plan_->buffers[b].last, 0});
  const int64_t total = place(lifetimes);
  for (size_t i = 0; i < mine.size(); ++i)
    slots_[mine[i]] = {lifetimes[i].offset, lifetimes[i].bytes};
  if (total > arena_sizes_[s] || !arenas_[s]) {
    arenas_[s].reset();
    arenas_[s].reset(allocate_aligned(total));
    arena_sizes_[s] = total;
  }
}

void FrameState::find_workspaces(uint32_t s) {
  const uint32_t from = plan_->segments[s].first_step;
  const uint32_t to = s + 1 < plan_->segments.size() ? plan_->segments[s + 1].first_step
                                                     : static_cast<uint32_t>(plan_->steps.size());
  int64_t most = 0;
  for (uint32_t i = from; i < to; ++i) {
    const Step& step = plan_->steps[i];
    if (step.kind != StepKind::row || !step.row->workspace) continue;
    const StepCx cx(plan_->graph.nodes()[step.node], operands_[i], step.prepared.get(), nullptr,
                    plan_->device.get(), this, i, n_inputs(step));
    most = std::max(most, step.row->workspace(cx));
  }
  if (most <= workspace_capacity_) return;
  workspace_.reset();
  workspace_.reset(allocate_aligned(most));
  workspace_capacity_ = most;
}

// Steps read inputs densely; a strided input is laid out first.
void FrameState::set_externals(const RunArgs& args) {
  const Plan& p = *plan_;
  for (uint32_t v = 0; v < p.values.size(); ++v) {
    const ValuePlan& value = p.values[v];
    std::byte* data = externals_[v];
    switch (value.home) {
      case Home::input:
        data = args.inputs[value.index].data();
        break;
      case Home::parameter:
        data = args.parameters[value.index].data();
        break;
      case Home::state:
        data = args.states[value.index].data();
        break;
      default:
        continue;
    }
    if (data != externals_[v]) pointers_valid_ = false;
    externals_[v] = data;
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

void FrameState::set_step_operand_pointers(uint32_t s) {
  const Step& step = plan_->steps[s];
  for (size_t i = 0; i < step.operands.size(); ++i)
    if (step.operands[i] != kNone) operands_[s][i].data = address(step.operands[i]);
}

void FrameState::set_pointers() {
  for (uint32_t s = 0; s < plan_->steps.size(); ++s) set_step_operand_pointers(s);
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
