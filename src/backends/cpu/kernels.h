// The CPU's table: op -> kernel. Written out in kernels.cpp from one list a file of rows.
#pragma once

#include <span>

#include "lamella/backends/planned/row.h"

namespace lamella::cpu {

// Rows in order of preference; the row without an op is the dense copy.
std::span<const planned::Row> kernel_rows();

// One list a rows_<family>.cpp.
std::span<const planned::Row> matmul_rows();
std::span<const planned::Row> elementwise_rows();
std::span<const planned::Row> norm_rows();
std::span<const planned::Row> attention_rows();
std::span<const planned::Row> index_rows();
std::span<const planned::Row> dynamic_rows();
std::span<const planned::Row> reduce_rows();
std::span<const planned::Row> move_rows();
std::span<const planned::Row> random_rows();
std::span<const planned::Row> spatial_rows();
std::span<const planned::Row> recurrent_rows();
std::span<const planned::Row> state_space_rows();
std::span<const planned::Row> signal_rows();
std::span<const planned::Row> quant_rows();
std::span<const planned::Row> linear_systems_rows();

}  // namespace lamella::cpu
