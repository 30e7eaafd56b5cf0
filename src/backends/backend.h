// What every back end offers: a Target for the passes, and executables built from optimised graphs.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/base/cancelled.h"
#include "lamella/ir/graph.h"
#include "lamella/ir/tensor.h"
#include "lamella/passes/target.h"

namespace lamella {

struct CompileOptions {
  Phase phase = Phase::bulk;
  bool exact = false;  // activations stay f32
  // In bulk, weights of small blocks are multiplied in wider ones; nothing with `exact`.
  bool requantize = false;
  bool allow_fallback =
      false;  // nodes that no row takes run on the reference, and the report says so
  std::string force_row =
      {};  // tests: only rows whose name contains this may run nodes that have such a row
};

// What ran a node, and what it costs at given sizes.
struct NodeReport {
  uint32_t node = 0;
  std::string op, origin, row;  // row: name of the kernel's row, "view", "reference"
  std::string why;              // why other rows did not take it
  std::string copied;           // the input that it copies instead of updating in place, and why
  Type type;
  double flops = 0;
  double bytes = 0;  // read and written
};

// Bytes a run needs besides inputs, outputs and parameters.
struct MemoryEstimate {
  int64_t arena_bytes = 0;
  int64_t parameter_bytes = 0;
  int64_t state_bytes = 0;
};

// Tensors of one run, in the graph's order. Outputs that are given (not empty handles) are written
// in place and must have the right size; the others are made. States are updated in place or
// replaced.
struct RunArgs {
  std::span<const Tensor> inputs;
  std::span<const Tensor> parameters;
  std::span<Tensor> states;
  std::span<Tensor> outputs;
};

// A part of a run as it happened.
struct StepSpan {
  static constexpr uint32_t kBinding = ~0u;  // sizes were bound, buffers placed
  uint32_t step = kBinding;                  // row of report()
  uint32_t segment = 0;  // binding: which part of the run; a new run begins with the first
  std::chrono::steady_clock::time_point start, end;
};

// What one run at a time needs: arena, bound sizes. Not shared by threads.
class Frame {
 public:
  virtual ~Frame() = default;
  // Throws UserError (inputs, sizes, indices) or DeviceError; states are then as before.
  virtual void run(const RunArgs& args) = 0;
  virtual int64_t arena_bytes() const = 0;
  // From now on, each run appends what it did when to `spans`; null ends that. Back ends that have
  // no steps append nothing.
  virtual void record_steps(std::vector<StepSpan>* spans) { (void)spans; }
  // From now on a run throws Cancelled soon after *flag is set (looked at between steps, and in
  // each iteration of a loop); null ends that.
  virtual void cancel_with(const CancelFlag* flag) = 0;
};

// A graph compiled for a back end. Immutable, shared by threads.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::unique_ptr<Frame> new_frame() const = 0;
  virtual const Graph& graph() const = 0;
  virtual std::vector<NodeReport> report(const DimBinding& binding) const = 0;
  virtual MemoryEstimate estimate_memory(const DimBinding& binding) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual Target target(const CompileOptions& options) const = 0;
  // `graph` has been through the pipeline for this target. UserError names op and back end where no
  // row takes a node.
  virtual std::shared_ptr<const Executable> build(Graph graph,
                                                  const CompileOptions& options) const = 0;
  // Names of the rows that the table has for an op, in order of preference; what `force_row`
  // chooses among.
  virtual std::vector<std::string> rows(const Op& op) const = 0;
  // Prompt tokens that a step takes best: more reads the weights less often, less keeps what lies
  // between the products in caches.
  virtual int64_t prompt_step() const { return 512; }
};

}  // namespace lamella
