// The run-time half: binds sizes, walks the steps and builds MLX's graph, evaluates it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lamella/backends/mlx/home_thread.h"
#include "lamella/backends/mlx/plan.h"
#include "lamella/backends/mlx/row_primitive.h"
#include "lamella/backends/mlx/traces.h"

namespace lamella::on_mlx {

class MlxFrame final : public Frame, private planned::OutputMaker {
 public:
  explicit MlxFrame(std::shared_ptr<const Plan> plan);
  ~MlxFrame() override;

  void run(const RunArgs& args) override;
  int64_t arena_bytes() const override { return run_->workspace_bytes(); }
  void record_steps(std::vector<StepSpan>* spans) override { spans_ = spans; }
  void cancel_with(const CancelFlag* flag) override { cancel_ = flag; }

  // A run of a body under the symbols that surround it.
  std::vector<Tensor> run_body(std::vector<Tensor> inputs, const DimBinding& outer);

 private:
  using Held = std::optional<mx::array>;

  const planned::Operand& allocate(uint32_t step, size_t out,
                                   std::span<const int64_t> shape) override;
  void run_here(const RunArgs& args);
  void forget_run();
  // --- sizes
  void bind(const RunArgs& args);
  void bind_symbols();
  void check_constraints();
  void set_shapes();
  void check_memory();
  void check_memory(int64_t wanted);
  std::vector<int64_t> shape_of(uint32_t value) const;
  // --- building
  void give(const RunArgs& args);
  void give_inputs(const RunArgs& args);
  void build();
  void build_steps(uint32_t first, uint32_t end);
  void build_step(uint32_t s);
  void set_going(uint32_t s);
  // --- compiling
  void build_compiled(uint32_t region);
  void call(Trace& trace, uint32_t region);
  Arrays trace_region(Trace& trace, uint32_t region, const Arrays& inputs);
  void free_values(const Region& region);
  mx::array typed(uint32_t value) const;
  Arrays inputs_of(const Step& step) const;
  void set_outputs(const Step& step, const Arrays& outputs);
  Arrays lower_sizes(const Step& step);
  Arrays lower_core(const Step& step);
  Arrays lower_bytes(const Step& step);
  template <Evaluate kEvaluate>
  Arrays lower_primitive(uint32_t s);
  void run_host(uint32_t s);
  void run_reference(uint32_t s);
  void run_control_step(uint32_t s);
  void adopt(const Step& step, size_t out, const Tensor& tensor);
  std::shared_ptr<const BoundStep> bound_step(uint32_t s);
  // --- evaluating
  void evaluate_now(Arrays arrays);
  Tensor tensor_at(uint32_t value);
  void finish(const RunArgs& args);
  void check_indices();
  // --- on a GPU
  void take_states(const RunArgs& args);
  void keep_states(const RunArgs& args);
  void restore_states();
  void put_back(size_t state, mx::array array);
  bool is_state_memory(uint32_t value) const;
  void put(uint32_t value, Tensor& to);

  std::shared_ptr<const Plan> plan_;
  mx::Stream stream_;
  std::shared_ptr<RunState> run_ = std::make_shared<RunState>();
  // No step is made of MLX's own ops: each is computed as it is come to, and nothing is left to MLX
  // to order.
  const bool is_direct_;
  std::vector<StepSpan>* spans_ = nullptr;
  const CancelFlag* cancel_ = nullptr;
  DimBinding binding_, outer_;
  std::vector<std::vector<int64_t>> given_shapes_;
  bool is_bound_ = false;
  std::vector<std::vector<int64_t>> shapes_;  // by value
  std::vector<Held> arrays_;                  // by value
  std::vector<const Tensor*> given_;          // by value: what the run was given
  std::vector<ValueId> given_ids_;            // inputs, then states, then parameters
  std::vector<std::pair<const std::byte*, Held>> parameters_;
  std::vector<Held> constants_;  // by value
  std::vector<std::shared_ptr<const BoundStep>> bound_steps_;
  Lowering lowering_;
  Held going_;                                     // on a GPU: what the run was last set going for
  std::vector<std::shared_ptr<StateCell>> cells_;  // on a GPU: by state
  std::vector<bool> is_appended_;                  // by state: its memory may be written in place
  std::vector<TraceCache> traces_;                 // by region
  std::vector<mx::array> effects_;  // states written in place: evaluated though nothing reads them
  // The host step that runs now: its operands, and outputs as it makes them.
  std::vector<planned::Operand> host_operands_;
  std::vector<Tensor> host_outputs_;
  std::vector<std::vector<std::unique_ptr<MlxFrame>>> body_frames_;  // by step
  // In mode `compiled`, where runs take place, whichever thread asks; of a body, its caller's. Ends
  // before the traces do: MLX's own share of them goes with it.
  std::unique_ptr<HomeThread> home_;
};

}  // namespace lamella::on_mlx
