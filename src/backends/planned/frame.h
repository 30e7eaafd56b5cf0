// The run-time half of a plan: bound sizes, arena, operands. One run at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lamella/backends/planned/placement.h"
#include "lamella/backends/planned/plan.h"

namespace lamella::planned {

class FrameState final : public Frame, private OutputMaker {
 public:
  explicit FrameState(std::shared_ptr<const Plan> plan);
  ~FrameState() override;

  void run(const RunArgs& args) override;
  // What a run does before its first step: binds sizes, places buffers, makes room for results.
  void bind(const RunArgs& args);
  int64_t arena_bytes() const override;
  void record_steps(std::vector<StepSpan>* spans) override { spans_ = spans; }
  void cancel_with(const CancelFlag* flag) override { cancel_ = flag; }

  // A run of a body under the symbols that surround it: inputs in order, fresh outputs.
  std::vector<Tensor> run_body(std::vector<Tensor> inputs, const DimBinding& outer);

  // For checks: where a buffer lies since the last run, in the arena of its segment.
  struct Placed {
    uint32_t segment = 0;
    int64_t offset = 0, bytes = 0;
  };
  const Plan& plan() const { return *plan_; }
  Placed placed(uint32_t buffer) const {
    const BufferPlan& b = plan_->buffers[buffer];
    return {b.segment, slots_[buffer].offset, bytes_[b.value]};
  }

  // How often sizes were bound and buffers placed; a decode step adds nothing.
  uint64_t n_binds() const { return n_binds_; }
  uint64_t n_placements() const { return n_placements_; }

 private:
  struct Slot {  // of a buffer
    int64_t offset = 0, capacity = -1;
  };
  struct ArenaFree {
    void operator()(std::byte* p) const;
  };

  // Allocates a dynamic output and binds the symbols of its type.
  const Operand& allocate(uint32_t step, size_t out, std::span<const int64_t> shape) override;
  bool bind_inputs(const RunArgs& args);
  void bind_symbols(const RunArgs& args);
  void check_given(uint32_t i);
  void bind_segment(uint32_t s);
  void check_sizes(const Segment& segment);
  void set_strides(uint32_t v);
  void set_static(uint32_t v);
  void place_segment(uint32_t s);
  void find_workspaces(uint32_t s);
  void set_externals(const RunArgs& args);
  void set_pointers();
  void set_external(uint32_t v, std::byte* data);
  void prepare_results(const RunArgs& args, uint32_t segment);
  void run_steps(const RunArgs& args);
  void launch(uint32_t s);
  template <class Work>
  void record(uint32_t step, uint32_t segment, const Work& work);
  void write_sizes(const Step& step);
  void run_reference(uint32_t s);
  void run_control_step(uint32_t s);
  void pre_copy(uint32_t s);
  void copy_value(uint32_t v, std::byte* to);
  void finish(const RunArgs& args);
  Tensor tensor_of(uint32_t v) const;
  void adopt(uint32_t s, size_t out, const Tensor& tensor);
  std::byte* address(uint32_t v) const;
  std::vector<int64_t> shape_of(uint32_t v) const;
  uint32_t n_inputs(const Step& step) const;
  std::span<Operand> operands(uint32_t s) {
    return {operands_.data() + first_operand_[s], first_operand_[s + 1] - first_operand_[s]};
  }

  std::shared_ptr<const Plan> plan_;
  std::vector<StepSpan>* spans_ = nullptr;
  const CancelFlag* cancel_ = nullptr;
  DimBinding binding_, outer_;
  std::vector<int64_t> symbols_;
  std::vector<std::vector<int64_t>> bound_shapes_;  // of what was given, as last bound
  std::vector<uint32_t> changed_;                   // of it, what was bound otherwise before
  std::vector<int64_t> sizes_, strides_;            // of all values, by their place
  std::vector<int64_t> bytes_;                      // by value
  std::vector<int64_t> offsets_;                    // of alias values, in bytes from their base
  std::vector<std::vector<int64_t>> results_;       // of the segments' dim programs
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<std::byte, ArenaFree>> arenas_;  // one a segment
  std::vector<int64_t> arena_sizes_;
  std::vector<std::byte*> externals_;  // by value: address of inputs, parameters, outputs, ...
  std::vector<Tensor> dynamic_, next_states_, made_outputs_;
  std::vector<std::byte*> addresses_;  // by value, as set_pointers found them
  // Operands of all steps, one step behind the other, and which values they are.
  std::vector<Operand> operands_;
  std::vector<uint32_t> operand_values_, first_operand_;
  std::vector<int64_t> workspace_bytes_;
  std::unique_ptr<std::byte, ArenaFree> workspace_;
  int64_t workspace_capacity_ = 0;
  std::vector<std::vector<std::unique_ptr<FrameState>>> body_frames_;  // by step
  bool is_bound_ = false, pointers_valid_ = false;
  bool statics_fit_ = false;  // given values of fixed sizes had these when bound last
  uint64_t n_binds_ = 0, n_placements_ = 0;
};

}  // namespace lamella::planned
