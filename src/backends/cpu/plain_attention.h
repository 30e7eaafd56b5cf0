// Attention over pages, and appending to them, in f64 by loops, with keys and values of any type:
// what the fast kernels do not take.
#pragma once

#include "lamella/backends/planned/row.h"

namespace lamella::cpu {

bool plain_paged_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_plain_paged(const planned::StepCx& cx);

bool plain_append_accepts(const Graph& g, const Node& n, const void* device);
planned::Status launch_plain_append(const planned::StepCx& cx);

}  // namespace lamella::cpu
