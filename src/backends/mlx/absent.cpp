// What stands in for the back end in a build without MLX.
#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/error.h"

namespace lamella {

bool has_mlx() { return false; }

bool mlx_compiles() { return false; }

std::string mlx_version() { return ""; }

MlxCounts mlx_counts(const Backend&) { return {}; }

std::vector<MlxCrossing> mlx_crossings(const Backend&) { return {}; }

std::unique_ptr<Backend> make_mlx_backend(const MlxOptions&) {
  throw UserError(
      "mlx: this build has no MLX; want MLX 0.32.4; hint: ./x setup, then configure anew");
}

}  // namespace lamella
