#include "lamella/backends/mlx/row_primitive.h"

#include <mlx/backend/cpu/encoder.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/memory.h"
#include "lamella/kernels/cpu/copy.h"

namespace lamella::on_mlx {
namespace {

using planned::Operand;

bool takes_strides(const BoundStep& bound, size_t input) {
  return bound.at().row->strided_inputs >> std::min<size_t>(input, 31) & 1;
}

}  // namespace

RunState::~RunState() { std::free(workspace_); }

void RunState::start(const CancelFlag* cancel, std::vector<StepSpan>* spans, bool here) {
  here_ = here;
  cancel_ = cancel;
  spans_ = spans;
  failed_ = nullptr;
}

std::byte* RunState::workspace(int64_t bytes) {
  if (bytes <= workspace_capacity_) return workspace_;
  std::free(workspace_);
  workspace_ = static_cast<std::byte*>(allocate_aligned(static_cast<size_t>(bytes)));
  workspace_capacity_ = workspace_ ? bytes : 0;
  return workspace_;
}

void RunState::launch(const BoundStep& bound, std::span<const Operand> operands,
                      planned::OutputMaker* maker) {
  if (failed_ || (cancel_ && cancel_->load(std::memory_order_relaxed))) return;
  const auto start = std::chrono::steady_clock::now();
  const Step& step = bound.at();
  auto cx = [&](std::byte* scratch) {
    return planned::StepCx(bound.node(), operands, step.prepared.get(), scratch,
                           &bound.plan->device->cpu, maker, bound.step, bound.n_inputs);
  };
  const int64_t wanted = step.row->workspace ? step.row->workspace(cx(nullptr)) : 0;
  std::byte* scratch = workspace(wanted);
  planned::Status status{planned::Status::no_memory, 0, 0};
  if (scratch || wanted == 0) status = step.row->launch(cx(scratch));
  if (spans_) spans_->push_back({bound.step, 0, start, std::chrono::steady_clock::now()});
  if (status.code == planned::Status::ok) return;
  failed_ = bound.plan.get();
  failed_node_ = step.node;
  status_ = status;
}

void RunState::finish() const {
  check_cancelled(cancel_);
  if (!failed_) return;
  const std::string message =
      str(failed_->graph.describe(failed_node_), ": ", planned::message_of(status_));
  if (status_.code == planned::Status::no_memory) throw DeviceError(message);
  throw UserError(message);
}

Operands::Operands(std::shared_ptr<const BoundStep> bound, const std::vector<mx::array>& inputs,
                   const std::vector<mx::array>& outputs)
    : bound_(std::move(bound)) {
  const BoundStep& b = *bound_;
  size_t n_sizes = 0;
  for (const auto& shape : b.shapes) n_sizes += shape.size();
  strides_.resize(n_sizes);
  operands_.resize(b.shapes.size());
  int64_t* strides = strides_.data();
  size_t present = 0;
  for (size_t i = 0; i < b.shapes.size(); ++i) {
    if (b.dtypes[i].is_none()) continue;
    const bool is_input = i < b.n_inputs;
    if (!is_input && outputs.empty()) {
      operands_[i] = {nullptr, b.shapes[i].data(), strides,
                      static_cast<uint32_t>(b.shapes[i].size()), b.dtypes[i]};
      strides += b.shapes[i].size();
      continue;
    }
    const mx::array& a = is_input ? inputs[present++] : outputs[i - b.n_inputs];
    const std::span<const int64_t> shape = b.shapes[i];
    operands_[i] = {bytes_of(a), shape.data(), strides, static_cast<uint32_t>(shape.size()),
                    b.dtypes[i]};
    if (a.flags().row_contiguous || !is_input) {
      planned::dense_strides(shape, {strides, shape.size()});
    } else {
      std::copy(a.strides().begin(), a.strides().end(), strides);
      if (!takes_strides(b, i)) not_dense_.push_back(static_cast<uint32_t>(i));
    }
    strides += shape.size();
  }
}

void Operands::make_dense(const cpu::Device& device) {
  for (uint32_t i : not_dense_) {
    Operand& x = operands_[i];
    int64_t* strides = const_cast<int64_t*>(x.strides);
    std::vector<int64_t> dense(x.rank);
    planned::dense_strides(x.sizes(), dense);
    const int64_t size = x.dtype.bytes(), n = x.numel();
    copies_.emplace_back(new std::byte[static_cast<size_t>(std::max<int64_t>(n * size, 1))]);
    if (n > 0)
      cpu::copy({size, x.sizes(), {x.strides, x.rank}, dense, x.data, copies_.back().get()},
                *device.pool);
    x.data = copies_.back().get();
    std::copy(dense.begin(), dense.end(), strides);
  }
}

namespace {

// Output 0 in the memory of an input, where the row allows it and nothing else holds that memory.
bool share_input(const BoundStep& b, const std::vector<mx::array>& inputs, mx::array& output) {
  const Step& step = b.at();
  size_t present = 0;
  for (size_t i = 0; i < b.n_inputs; ++i) {
    if (b.dtypes[i].is_none()) continue;
    const mx::array& in = inputs[present++];
    const bool is_updated = i == step.updates;
    const bool may = is_updated || (step.row->in_place_inputs >> std::min<size_t>(i, 31) & 1);
    const bool is_free =
        (is_updated && step.in_place) || (in.is_donatable() && in.flags().row_contiguous);
    if (!may || !is_free || b.dtypes[i] != b.dtypes[b.n_inputs] ||
        b.shapes[i] != b.shapes[b.n_inputs])
      continue;
    // The input may be seen under other sizes.
    output.copy_shared_buffer(in, output.strides(), in.flags(), in.data_size());
    return true;
  }
  return false;
}

void run_step(Operands& operands, RunState& run, bool copies) {
  const BoundStep& bound = operands.bound();
  operands.make_dense(bound.plan->device->cpu);
  const std::span<Operand> all = operands.all();
  const Operand& first = all[bound.n_inputs];
  if (copies) {
    const size_t bytes = tensor_bytes(first.dtype, first.sizes());
    if (bytes > 0) std::memcpy(first.data, all[bound.at().updates].data, bytes);
  }
  run.launch(bound, all.first(all.size() - (bound.pack ? 1 : 0)), nullptr);
  if (!bound.pack) return;
  // Its input may be seen under other sizes.
  const std::vector<int64_t>& shape = bound.pack->shapes[0];
  std::vector<int64_t> strides(shape.size());
  planned::dense_strides(shape, strides);
  const Operand packing[] = {
      {all[bound.n_inputs + bound.at().packed].data, shape.data(), strides.data(),
       static_cast<uint32_t>(shape.size()), bound.pack->dtypes[0]},
      all.back()};
  run.launch(*bound.pack, packing, nullptr);
}

}  // namespace

void evaluate_row(const std::shared_ptr<const BoundStep>& bound,
                  const std::shared_ptr<RunState>& run, mx::Stream stream,
                  const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) {
  const bool shares = share_input(*bound, inputs, outputs[0]);
  for (size_t o = shares ? 1 : 0; o < outputs.size(); ++o) allocate(outputs[o]);
  const bool copies = bound->at().updates != kNone && !shares;
  if (run->is_here()) {
    Operands operands(bound, inputs, outputs);
    return run_step(operands, *run, copies);
  }
  mx::cpu::get_command_encoder(stream).dispatch(
      [operands = std::make_shared<Operands>(bound, inputs, outputs), run, copies] {
        run_step(*operands, *run, copies);
      });
}

}  // namespace lamella::on_mlx
