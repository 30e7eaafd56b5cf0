// Rows that lower one op to mlx::core calls.
#pragma once

#include <mlx/array.h>
#include <mlx/stream.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/backends/mlx/device_memory.h"
#include "lamella/backends/mlx/reencode.h"
#include "lamella/backends/planned/row.h"
#include "lamella/ir/graph.h"
#include "lamella/passes/target.h"

namespace lamella {

struct MlxEmulation;

}  // namespace lamella

namespace lamella::on_mlx {

namespace mx = ::mlx::core;

using Arrays = std::vector<mx::array>;

// Positions that must lie in [least, size), or flags that must be 0. MLX itself ends the process
// where positions do not.
struct IndexCheck {
  uint32_t node = 0;
  int64_t least = 0, size = 0;
  mx::array indices, is_bad;  // is_bad: one bool for all of them
  planned::Status::Code problem = planned::Status::index_out_of_range;
};

class KernelCache;
class Sequences;
class TurnTables;

// What the nodes of one run share while they are lowered.
struct Lowering {
  mx::Stream stream;
  bool reads_given = false;
  Reencoded& reencoded;
  DeviceMemory& memory;
  const DimBinding& binding;
  std::vector<IndexCheck> checks;
  // Made of what the run was given, for all nodes that need the same: by its bytes, and what for.
  std::map<std::pair<const std::byte*, std::string>, Arrays> made;
  std::shared_ptr<const Sequences> sequences;  // those read last
  // Kept over runs.
  std::shared_ptr<KernelCache> kernels;
  std::shared_ptr<TurnTables> turns;
  std::shared_ptr<const MlxEmulation> emulation;
  // Of what rows made for one product alone, since the run last waited.
  int64_t scratch_bytes = 0;

  void start();
};

// Of a node being lowered: what its plan says.
struct LowerPlan {
  bool writes_in_place = false;           // the state that it updates
  const std::vector<bool>* rounded = {};  // by output: whoever reads it rounds it to bf16
};

// A node being lowered: its inputs as arrays, its sizes bound.
class LowerCx {
 public:
  // `given`: of inputs that the run was given, the tensors themselves.
  LowerCx(const Graph& graph, uint32_t node, std::span<const mx::array* const> inputs,
          std::span<const Tensor* const> given, LowerPlan plan, Lowering& run)
      : run(run),
        stream(run.stream),
        graph_(graph),
        node_(node),
        inputs_(inputs),
        given_(given),
        plan_(plan) {}

  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  const mx::array& in(size_t i) const { return *inputs_[i]; }
  size_t n_inputs() const { return inputs_.size(); }
  // An input that kernels read in eights: it begins where its memory does, and not at some element.
  mx::array whole(size_t i) const;
  bool writes_in_place() const { return plan_.writes_in_place; }
  // Output o may be given in bf16.
  bool may_round(size_t o) const { return plan_.rounded && (*plan_.rounded)[o]; }
  const Tensor& given(size_t i) const { return *given_[i]; }
  // Its bytes are those of every run.
  bool is_weight(size_t i) const { return !graph_.node(node().inputs[i]).is(op<Input>); }
  const Node& node() const { return graph_.nodes()[node_]; }
  template <class A>
  const A& attrs() const {
    return node().attrs.as<A>();
  }
  int64_t value(Dim dim) const { return evaluate(dim, run.binding); }
  std::string where() const { return graph_.describe(node_); }
  mx::Shape out_shape(size_t i) const;
  mx::Dtype out_dtype(size_t i) const;
  // The sizes that input i holds, known now that symbols are bound; or what the run is given for
  // it.
  std::vector<int64_t> known(size_t i) const;
  const Type& type(size_t i) const { return graph_.type(node().inputs[i]); }
  // Indices into an axis of that size, those that lie outside brought inside and noted.
  mx::array checked(const mx::array& indices, int64_t size);
  // The same, where negative ones lie outside too.
  mx::array checked_below(const mx::array& indices, int64_t size);
  // The same of input i, looked at here where the run is given it.
  mx::array checked_given(size_t i, int64_t size);
  // Notes the matrices of a batch whose flag, i32, is 1.
  void check_matrices(const mx::array& is_bad, planned::Status::Code problem);

  Lowering& run;
  const mx::Stream stream;

 private:
  const Graph& graph_;
  uint32_t node_;
  std::span<const mx::array* const> inputs_;
  std::span<const Tensor* const> given_;
  LowerPlan plan_;
};

// What a row needs.
enum CoreNeeds : uint32_t {
  kReencodes = 1,      // a weight of a type that MLX lacks is given to it in another form
  kReadsGiven = 2,     // the values of inputs that the run is given
  kKernel = 4,         // a GPU, which compiles its source
  kOnGpu = 16,         // a GPU, whose functions are more exact than MLX's on the CPU
  kOffGpu = 64,        // MLX's CPU device
  kF64Kernel = 32,     // that GPU computes in f64
  kAppends = 8,        // (no need:) what it writes into a state lies where nothing counts as valid
  kTakesNarrow = 128,  // (no need:) inputs of f32 may come in bf16, where that is exact or all that
                       // whoever reads them wants; the same goes for what it gives
};

// What the rows run on.
struct CoreTarget {
  bool on_gpu = false;
  bool keeps_traces = false;  // lowerings are kept for later runs, and so read no values
};

struct CoreRow {
  const Op* op;
  std::string_view name;  // "mlx::core::softmax"
  Arrays (*lower)(LowerCx& cx);
  bool (*accepts)(const Graph& graph, const Node& node) = nullptr;  // null: every node of the op
  uint32_t needs = 0;                                               // CoreNeeds
};

// Rows in order of preference, from one list a file.
std::span<const CoreRow> core_rows();
std::span<const CoreRow> core_shape_rows();
std::span<const CoreRow> core_math_rows();
std::span<const CoreRow> core_reduce_rows();
std::span<const CoreRow> core_index_rows();
std::span<const CoreRow> core_attention_rows();
std::span<const CoreRow> core_kernel_rows();
std::span<const CoreRow> core_layer_rows();
std::span<const CoreRow> core_random_rows();
std::span<const CoreRow> core_spatial_rows();
std::span<const CoreRow> core_wide_rows();
std::span<const CoreRow> core_packed_rows();

// The row that takes the node, the one named `force` if it does; null when there is none. All
// inputs and outputs have MLX's types, but for weights of rows that say so.
const CoreRow* find_core_row(const Graph& graph, const Node& node, CoreTarget target,
                             std::string_view force = {});
// Of a type whose values float32 holds.
inline bool is_up_to_f32(DType t) { return t == kF32 || t == kF16 || t == kBF16; }
// On a GPU this product, or attention, is faster with both operands rounded to bf16 (`compute:
// bf16`).
bool rounds_on_gpu(const Graph& graph, const Node& node, Phase phase);
// The node rounds this input to bf16 before it does anything else.
bool reads_rounded(const Node& node, size_t input);
// The run is given this value, so that its bytes can be read while the node is lowered.
bool is_given(const Graph& graph, const Node& node, size_t input);

}  // namespace lamella::on_mlx
