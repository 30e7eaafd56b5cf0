// A custom primitive of MLX around one row of the CPU's table: one op, or one claimed composite. It
// makes operands of MLX's arrays and runs the row's launch on the stream's thread.
#pragma once

#include <mlx/primitives.h>

#include <memory>
#include <span>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/backends/mlx/plan.h"
#include "lamella/base/error.h"

namespace lamella::on_mlx {

// A step with its sizes bound: what every run of it is given again.
struct BoundStep {
  std::shared_ptr<const Plan> plan;
  uint32_t step = 0;
  // Of inputs (absent ones too), then outputs.
  std::vector<DType> dtypes;
  std::vector<std::vector<int64_t>> shapes;
  size_t n_inputs = 0;
  DimBinding binding;  // for views
  // The pack that runs in this step's primitive; its encoding is the output behind the node's own.
  std::shared_ptr<const BoundStep> pack;

  const Step& at() const { return plan->steps[step]; }
  const Node& node() const { return plan->graph.nodes()[at().node]; }
};

// What the launches of one run at a time share. The stream's thread writes it while the run waits.
class RunState {
 public:
  ~RunState();
  // Forgets the run before. `here`: nothing of the run is computed by MLX's own ops, so that the
  // rows may run on the caller's thread, without a hand-over each.
  void start(const CancelFlag* cancel, std::vector<StepSpan>* spans, bool here);
  bool is_here() const { return here_; }
  // Runs the step's row, unless an earlier one has failed: kernels report, and never throw.
  void launch(const BoundStep& bound, std::span<const planned::Operand> operands,
              planned::OutputMaker* maker);
  // Throws what the first failed step reported, or Cancelled.
  void finish() const;
  int64_t workspace_bytes() const { return workspace_capacity_; }

 private:
  std::byte* workspace(int64_t bytes);

  const CancelFlag* cancel_ = nullptr;
  std::vector<StepSpan>* spans_ = nullptr;
  bool here_ = false;
  const Plan* failed_ = nullptr;  // and which node of it
  uint32_t failed_node_ = 0;
  planned::Status status_;
  std::byte* workspace_ = nullptr;
  int64_t workspace_capacity_ = 0;
};

// Sizes, strides and addresses of a step's operands, kept until it has run.
class Operands {
 public:
  Operands(std::shared_ptr<const BoundStep> bound, const std::vector<mx::array>& inputs,
           const std::vector<mx::array>& outputs);
  const BoundStep& bound() const { return *bound_; }
  std::span<planned::Operand> all() { return operands_; }

  // Lays out densely what the row cannot read as it lies.
  void make_dense(const cpu::Device& device);

 private:
  std::shared_ptr<const BoundStep> bound_;
  std::vector<planned::Operand> operands_;
  std::vector<int64_t> strides_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::vector<uint32_t> not_dense_;  // inputs to be laid out anew
};

// A primitive of the CPU around a step: kEvaluate gives the outputs memory, and fills it now or
// when the stream comes to it.
using Evaluate = void (*)(const std::shared_ptr<const BoundStep>& bound,
                          const std::shared_ptr<RunState>& run, mx::Stream stream,
                          const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs);
template <Evaluate kEvaluate>
class StepPrimitive final : public mx::Primitive {
 public:
  StepPrimitive(mx::Stream stream, std::shared_ptr<const BoundStep> bound,
                std::shared_ptr<RunState> run)
      : Primitive(stream), bound_(std::move(bound)), run_(std::move(run)) {}

  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    kEvaluate(bound_, run_, stream(), inputs, outputs);
  }
  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw InternalError("mlx: a row of the CPU's table was placed on a GPU");
  }
  const char* name() const override { return "LamellaStep"; }

 private:
  std::shared_ptr<const BoundStep> bound_;
  std::shared_ptr<RunState> run_;
};

// One row of the CPU's table.
void evaluate_row(const std::shared_ptr<const BoundStep>& bound,
                  const std::shared_ptr<RunState>& run, mx::Stream stream,
                  const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs);

}  // namespace lamella::on_mlx
