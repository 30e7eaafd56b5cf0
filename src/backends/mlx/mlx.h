// The MLX back end: a graph becomes a graph of MLX arrays, op by op, and MLX schedules it. On MLX's
// CPU device the ops run Lamella's own kernels as custom primitives; the lowering `gpu` uses
// mlx::core's ops wherever they hold an op's meaning.
#pragma once

#include <memory>
#include <optional>

#include "lamella/backends/backend.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella {

enum class MlxMode : int { lazy, eager };
template <>
struct EnumNames<MlxMode> {
  static constexpr std::array<std::string_view, 2> names{"lazy", "eager"};
};

// Which rows are asked first: custom primitives, or mlx::core's ops.
enum class MlxLowering : int { cpu, gpu };
template <>
struct EnumNames<MlxLowering> {
  static constexpr std::array<std::string_view, 2> names{"cpu", "gpu"};
};

struct MlxOptions {
  int threads = 0;                   // of the custom primitives; 0: one a core
  std::optional<cpu::Isa> isa = {};  // of the custom primitives; none: the best one here
  MlxMode mode = MlxMode::lazy;
  MlxLowering lowering = MlxLowering::cpu;
};

// False where Lamella was built without MLX; make_mlx_backend then throws a UserError that says so.
bool has_mlx();
// "0.32.4"; empty without MLX.
std::string mlx_version();

std::unique_ptr<Backend> make_mlx_backend(const MlxOptions& options = {});

}  // namespace lamella
