// From the IR's types and a step's operands to what kernels take.
#pragma once

#include <optional>

#include "lamella/backends/cpu/device.h"
#include "lamella/backends/planned/row.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/matmul.h"

namespace lamella::cpu {

// The kernels' name of a plain type; none for types they do not know.
std::optional<Elem> elem_of(DType dtype);

inline const Device& device_of(const planned::StepCx& cx) { return cx.device<Device>(); }

// What a kernel found, as the frame reports it; `ids` is the tensor that holds the offending value.
planned::Status status_of(const Status& status, const planned::Operand* ids = nullptr);

inline const Type& type_of_input(const Graph& g, const Node& n, size_t i) {
  return g.type(n.inputs[i]);
}
inline bool has_input(const Node& n, size_t i) {
  return i < n.inputs.size() && !n.inputs[i].absent();
}

// Planes of an encoded operand whose rows lie one after the other.
quant::BlockPtr planes_of(const planned::Operand& x);

// Copies rows of an encoding, whole: to y's row y_at + sum of i y_rows for each index i of `shape`,
// from x's row x_at + sum of i x_rows. Rows lie one after the other in both.
struct EncodedRows {
  std::span<const int64_t> shape, x_rows, y_rows;  // of all axes but the last
  int64_t x_at = 0, y_at = 0;
};
void copy_encoded(const planned::Operand& x, const planned::Operand& y, const EncodedRows& rows);

// A matrix [n, k] (or [..., n, k] seen as rows of k).
Weights weights_of(const planned::Operand& w);
// The same for a dtype that Weights can hold: blocks, f32, f16, bf16.
bool is_weight_type(DType dtype);

// Strides of x aligned to a shape of that rank: 0 where x repeats.
void broadcast_strides(const planned::Operand& x, std::span<const int64_t> shape, int64_t* strides);

}  // namespace lamella::cpu
