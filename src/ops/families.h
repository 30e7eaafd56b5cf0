// The lists of ops, one a family; each is written out in src/ops/<family>/<family>.cpp.
#pragma once

#include <span>

#include "lamella/ir/define_op.h"

namespace lamella {

std::span<const Op* const> math_ops();
std::span<const Op* const> activation_ops();
std::span<const Op* const> shape_ops();
std::span<const Op* const> reduce_ops();
std::span<const Op* const> index_ops();
std::span<const Op* const> quant_ops();
std::span<const Op* const> random_ops();
std::span<const Op* const> control_ops();
std::span<const Op* const> linalg_ops();
std::span<const Op* const> spatial_ops();
std::span<const Op* const> nn_ops();
std::span<const Op* const> attention_ops();
std::span<const Op* const> recurrent_ops();
std::span<const Op* const> signal_ops();

}  // namespace lamella
