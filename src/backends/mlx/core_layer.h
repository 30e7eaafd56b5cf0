// What the rows of core_layer.cpp share with the other rows.
#pragma once

#include "lamella/backends/mlx/core_kernel.h"

namespace lamella::on_mlx {

// Of a paged_attention: MLX's own attention in bf16 takes it, whose result is only read by what
// rounds it (in that phase, or as its attributes say).
bool attends_rounded(const Graph& graph, const Node& node, Phase phase);

// kv_append as MLX's scatter.
Arrays append_by_scatter(LowerCx& cx);

}  // namespace lamella::on_mlx
