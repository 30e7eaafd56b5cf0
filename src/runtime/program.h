// compile: Graph -> Program. A Program is immutable and shared by threads; an Execution is one
// run's place to work.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/passes/pipeline.h"
#include "lamella/runtime/weights.h"

namespace lamella {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

class Program : public std::enable_shared_from_this<Program> {
 public:
  // The graph as optimised for the back end; inputs, parameters, states and outputs keep names and
  // order.
  const Graph& graph() const { return executable_->graph(); }
  const std::vector<StageTime>& stage_times() const { return stage_times_; }
  // What is computed of the parameters alone, once; null: nothing.
  const Program* prologue() const { return prologue_.get(); }
  const CompileOptions& options() const { return options_; }
  const std::string& backend_name() const { return backend_name_; }
  std::vector<NodeReport> report(const DimBinding& binding) const {
    return executable_->report(binding);
  }
  MemoryEstimate estimate_memory(const DimBinding& binding) const {
    return executable_->estimate_memory(binding);
  }

  // Inputs (and states, updated in place) by name. Outputs by name.
  TensorMap run(const TensorMap& inputs, const Weights& weights = {},
                TensorMap* states = nullptr) const;

 private:
  friend class Execution;
  friend std::shared_ptr<const Program> compile(const Graph&, const Backend&, const CompileOptions&,
                                                const OptimizeOptions*);

  std::unique_ptr<Frame> take_frame() const;
  void give_frame(std::unique_ptr<Frame> frame) const;
  std::vector<Tensor> parameters(const Weights& weights) const;

  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<const Program> prologue_;  // hoisted weight-only work, or null
  CompileOptions options_;
  std::string backend_name_;
  std::vector<StageTime> stage_times_;
  uint64_t key_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> free_frames_;
};

// Optimises and builds. `optimize_options` adds dumps and such; its `exact` and
// `requantize` follow `options`.
std::shared_ptr<const Program> compile(const Graph& graph, const Backend& backend,
                                       const CompileOptions& options = {},
                                       const OptimizeOptions* optimize_options = nullptr);

// A started run. Errors are thrown by wait().
class Event {
 public:
  explicit Event(std::shared_future<void> done) : done_(std::move(done)) {}
  void wait() const { done_.get(); }

 private:
  std::shared_future<void> done_;
};

// A frame taken from the program's free list, with the parameters of one Weights set; given back at
// the end.
class Execution {
 public:
  Execution(std::shared_ptr<const Program> program, const Weights& weights);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // In the graph's order. Outputs that hold a tensor are written in place. States are updated; a
  // run that fails leaves them as they were (rows that an in-place update appended lie beyond the
  // length that the caller keeps).
  void run(std::span<const Tensor> inputs, std::span<Tensor> states, std::span<Tensor> outputs);
  // The same in the background; the spans' tensors must live until the event is waited for.
  Event start(std::span<const Tensor> inputs, std::span<Tensor> states, std::span<Tensor> outputs);

  const Program& program() const { return *program_; }
  int64_t arena_bytes() const { return frame_->arena_bytes(); }
  // See Frame::record_steps.
  void record_steps(std::vector<StepSpan>* spans) { frame_->record_steps(spans); }
  // See Frame::cancel_with; the flag must outlive the runs.
  void cancel_with(const CancelFlag* flag) { frame_->cancel_with(flag); }

 private:
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Frame> frame_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> dense_inputs_;
};

}  // namespace lamella
