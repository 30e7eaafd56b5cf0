// A row of a planned back end's table: which nodes it takes, and how a step of it is launched. One
// row is both "supported" and "dispatched".
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella::planned {

// One input or output of a step as the kernel sees it: sizes are bound, strides are in elements (0:
// broadcast).
struct Operand {
  std::byte* data = nullptr;  // null: absent
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // encoded operands are contiguous and have none
  uint32_t rank = 0;
  DType dtype;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int64_t size(int64_t axis) const {
    return shape[axis < 0 ? axis + static_cast<int64_t>(rank) : axis];
  }
  int64_t numel() const {
    int64_t n = 1;
    for (uint32_t i = 0; i < rank; ++i) n *= shape[i];
    return n;
  }
  std::span<const int64_t> sizes() const { return {shape, rank}; }
};

// What a kernel reports: 0, or a code with the offending value.
struct Status {
  enum Code : int {
    ok,
    index_out_of_range,
    bad_value,
    no_memory,
    singular,               // matrix `index` of a batch
    not_positive_definite,  // likewise
  };
  Code code = ok;
  int64_t index = 0;  // position in the input
  int64_t value = 0;  // what was found there
};
// "index out of range; got 7 at position 3".
std::string message_of(const Status& status);

// Makes outputs whose sizes only the data decide, for the step that has found them.
class OutputMaker {
 public:
  virtual const Operand& allocate(uint32_t step, size_t out, std::span<const int64_t> shape) = 0;

 protected:
  ~OutputMaker() = default;
};

// A step being launched.
class StepCx {
 public:
  StepCx(const Node& node, std::span<const Operand> operands, const void* prepared,
         std::byte* workspace, const void* device, OutputMaker* maker, uint32_t step,
         size_t n_inputs)
      : node_(node),
        operands_(operands),
        prepared_(prepared),
        workspace_(workspace),
        device_(device),
        maker_(maker),
        step_(step),
        n_inputs_(n_inputs) {}

  bool has(size_t i) const { return i < n_inputs() && !operands_[i].dtype.is_none(); }
  size_t n_inputs() const { return n_inputs_; }
  const Operand& in(size_t i) const { return operands_[i]; }
  const Operand& out(size_t i) const { return operands_[n_inputs() + i]; }
  template <class A>
  const A& attrs() const {
    return node_.attrs.as<A>();
  }
  const Node& node() const { return node_; }
  // What the row's `prepare` made of the node at compile time.
  template <class T>
  const T& prepared() const {
    return *static_cast<const T*>(prepared_);
  }
  std::byte* workspace() const { return workspace_; }
  // The back end's device object (CPU: pool and instruction set).
  template <class T>
  const T& device() const {
    return *static_cast<const T*>(device_);
  }
  // For outputs whose sizes only the data decide: allocates them and binds the fresh symbols.
  const Operand& allocate(size_t i, std::span<const int64_t> shape) const {
    return maker_->allocate(step_, i, shape);
  }

 private:
  const Node& node_;
  std::span<const Operand> operands_;
  const void* prepared_;
  std::byte* workspace_;
  const void* device_;
  OutputMaker* maker_;
  uint32_t step_;
  size_t n_inputs_;
};

// Size in bytes of a step's scratch memory, asked when sizes are bound; operands have sizes but no
// data.
using WorkspaceFn = int64_t (*)(const StepCx&);

struct Row {
  const Op* op;
  std::string_view name;  // "matmul_packed_avx512"
  // Compile-time facts only (types, rank, layout, divisors); null: every node of the op.
  bool (*accepts)(const Graph& graph, const Node& node, const void* device) = nullptr;
  Status (*launch)(const StepCx& step) = nullptr;
  // Compile-time work on the node, kept with the step; null: none.
  std::shared_ptr<const void> (*prepare)(const Graph& graph, const Node& node,
                                         const void* device) = nullptr;
  WorkspaceFn workspace = nullptr;
  uint32_t strided_inputs = 0;  // bit i: input i may have any strides
  // Bit i: output 0 may share input i's buffer when that input dies here and the sizes are equal.
  uint32_t in_place_inputs = 0;
  // The encoding that the kernel wants input 0 packed in, or bf16: `compute: bf16`; null: as it is.
  DType (*activation)(const Graph& graph, const Node& node, const void* device) = nullptr;
  bool in_region = false;  // may be a step of an elementwise region
  // What it writes into a state lies where the caller counts nothing as valid until the run has
  // succeeded: the state may be updated in place.
  bool appends = false;
};

}  // namespace lamella::planned
