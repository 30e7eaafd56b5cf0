// A GPU that is none, for tests: its arrays lie in the CPU's memory, and what a GPU would compile
// is compiled for the CPU by whoever asks for this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lamella/backends/mlx/gpu_source.h"

namespace lamella {

// A kernel with the types of its operands.
struct GpuSource {
  struct Operand {
    std::string name;
    DType dtype;
  };
  const on_mlx::GpuKernel& kernel;
  const on_mlx::GpuFormat* format = nullptr;
  std::vector<on_mlx::GpuConstant> constants;
  size_t parts = 0;  // the lines of gpu_parts stand in front
  std::vector<Operand> inputs, outputs;
};

struct MlxEmulation {
  // Runs a grid of groups over the addresses of inputs, each with its sizes behind it, and of
  // outputs. Inputs lie densely.
  using Launch = std::function<void(const void* const* addresses, int groups_x, int groups_y)>;
  std::function<Launch(const GpuSource& source)> compile;
};

}  // namespace lamella
