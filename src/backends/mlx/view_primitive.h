// The views of planned/views.h as primitives: they only say where elements lie, and copy where a
// reshape meets elements that do not lie densely.
#pragma once

#include "lamella/backends/mlx/row_primitive.h"

namespace lamella::on_mlx {

void evaluate_view(const std::shared_ptr<const BoundStep>& bound,
                   const std::shared_ptr<RunState>& run, mx::Stream stream,
                   const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs);

}  // namespace lamella::on_mlx
