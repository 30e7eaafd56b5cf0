// The MLX back end: a graph becomes a graph of MLX arrays, op by op, and MLX schedules it. On MLX's
// CPU device the ops run Lamella's own kernels as custom primitives; the lowering `gpu` uses
// mlx::core's ops wherever they hold an op's meaning.
#pragma once

#include <memory>
#include <optional>

#include "lamella/backends/backend.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella {

// lazy: MLX's graph is built and computed run by run. compiled: MLX compiles it, region by region,
// for each set of sizes. eager: every node is computed at once.
enum class MlxMode : int { lazy, compiled, eager };
template <>
struct EnumNames<MlxMode> {
  static constexpr std::array<std::string_view, 3> names{"lazy", "compiled", "eager"};
};

// Which rows are asked first: custom primitives, or mlx::core's ops.
enum class MlxLowering : int { cpu, gpu };
template <>
struct EnumNames<MlxLowering> {
  static constexpr std::array<std::string_view, 2> names{"cpu", "gpu"};
};

// Where MLX computes. `gpu` takes the lowering of that name, and no custom primitives.
enum class MlxDevice : int { cpu, gpu };
template <>
struct EnumNames<MlxDevice> {
  static constexpr std::array<std::string_view, 2> names{"cpu", "gpu"};
};

struct MlxEmulation;  // gpu_emulation.h

struct MlxOptions {
  int threads = 0;                   // of the custom primitives; 0: one a core
  std::optional<cpu::Isa> isa = {};  // of the custom primitives; none: the best one here
  MlxMode mode = MlxMode::lazy;
  MlxLowering lowering = MlxLowering::cpu;
  MlxDevice device = MlxDevice::cpu;
  std::shared_ptr<const MlxEmulation> emulation = {};  // tests: stands in for the device `gpu`
};

// False where Lamella was built without MLX; make_mlx_backend then throws a UserError that says so.
bool has_mlx();
// "0.32.4"; empty without MLX.
std::string mlx_version();

// Does MLX find the compiler that mode `compiled` needs on the CPU? Without it MLX says nothing,
// and runs its own ops one by one.
bool mlx_compiles();

// What the programs of a back end did, all together.
struct MlxCounts {
  uint64_t traces = 0;       // of regions, in mode `compiled`
  uint64_t retraces = 0;     // of these, for sizes that had been traced before
  uint64_t lazy_runs = 0;    // of regions, since too many sizes were met to keep a trace of each
  uint64_t host_steps = 0;   // nodes run between regions: loops, and sizes that only data decide
  int64_t copied_bytes = 0;  // of results that MLX's memory could not be lent for
  // Crossings between the caller's memory and a GPU's: what runs were given and gave back.
  uint64_t crossings = 0;
  int64_t uploaded_bytes = 0, downloaded_bytes = 0;
  // On a GPU: block formats that were unpacked to bf16, each for one product; the most memory that
  // MLX has held at once in this process.
  int64_t unpacked_bytes = 0, peak_bytes = 0;
};
// Zeros for another back end.
MlxCounts mlx_counts(const Backend& backend);

// What crossed, summed over the runs of the programs that still are; the most bytes first.
struct MlxCrossing {
  std::string node;
  uint64_t n = 0;
  int64_t bytes = 0;
};
std::vector<MlxCrossing> mlx_crossings(const Backend& backend);

std::unique_ptr<Backend> make_mlx_backend(const MlxOptions& options = {});

}  // namespace lamella
