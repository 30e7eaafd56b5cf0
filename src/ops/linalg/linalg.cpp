#include "lamella/ops/families.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/det.h"
#include "lamella/ops/linalg/dot_general.h"
#include "lamella/ops/linalg/einsum.h"
#include "lamella/ops/linalg/gated_mlp_up.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/linear.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/multi_linear.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"

namespace lamella {

std::span<const Op* const> linalg_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Cholesky>,    &op<Det>,           &op<DotGeneral>,      &op<Einsum>,
      &op<GatedMlpUp>,  &op<GroupedMatmul>, &op<Linear>,          &op<Matmul>,
      &op<MultiLinear>, &op<Solve>,         &op<TriangularSolve>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
