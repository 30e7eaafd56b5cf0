// A kernel's source as a primitive of the CPU: see gpu_emulation.h.
#pragma once

#include <memory>

#include "lamella/backends/mlx/core_kernel.h"
#include "lamella/backends/mlx/gpu_emulation.h"

namespace lamella::on_mlx {

std::shared_ptr<mx::Primitive> emulated_kernel(const MlxEmulation& emulation,
                                               const KernelCall& call, const Arrays& inputs,
                                               const std::vector<KernelOutput>& outputs,
                                               int groups_x, int groups_y, mx::Stream stream);

}  // namespace lamella::on_mlx
