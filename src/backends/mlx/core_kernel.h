// Running a kernel source on the GPU.
#pragma once

#include <string>
#include <vector>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/backends/mlx/gpu_source.h"

namespace lamella::on_mlx {

struct KernelCall {
  const GpuKernel& kernel;
  const GpuFormat* format = nullptr;  // whose `decode` it uses
  std::vector<GpuConstant> constants;
  std::vector<std::string> inputs;  // their names in the source
};

// The f32 result of groups_x by groups_y groups.
mx::array run_kernel(LowerCx& cx, const KernelCall& call, const Arrays& inputs, mx::Shape shape,
                     int groups_x, int groups_y);

}  // namespace lamella::on_mlx
