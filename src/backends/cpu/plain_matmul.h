// Matrix products for every plain type, layout and broadcast, and of f64 with encoded matrices, by
// loops: what the fast kernels do not take.
#pragma once

#include "lamella/backends/planned/row.h"

namespace lamella::cpu {

bool plain_matmul_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_plain_matmul(const planned::StepCx& cx);

// The same for grouped_matmul, of dense operands.
bool plain_grouped_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_plain_grouped(const planned::StepCx& cx);

// An encoded matrix along either axis, decoded a row at a time.
bool decoded_matmul_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_decoded_matmul(const planned::StepCx& cx);
bool decoded_grouped_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_decoded_grouped(const planned::StepCx& cx);

}  // namespace lamella::cpu
