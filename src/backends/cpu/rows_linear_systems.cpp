// Cholesky factors, triangular and general linear systems, determinants.
#include <numeric>
#include <vector>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/linear_systems.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/det.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"

namespace lamella::cpu {
namespace {

int64_t n_matrices(const planned::Operand& x) {
  return std::accumulate(x.shape, x.shape + x.rank - 2, int64_t{1}, std::multiplies<>());
}

planned::Status status_of_matrix(planned::Status::Code code, int64_t matrix) {
  if (matrix < 0) return {};
  return {code, matrix, 0};
}

// Where the matrices of x lie, one for each of y, whose leading axes those of x broadcast to.
std::vector<int64_t> places(const planned::Operand& x, const planned::Operand& y) {
  std::vector<int64_t> at(static_cast<size_t>(n_matrices(y)));
  for (size_t i = 0; i < at.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), step = 1;
    for (uint32_t d = 3; d <= x.rank; ++d) {
      const int64_t size = x.shape[x.rank - d], of_y = y.shape[y.rank - d];
      at[i] += size == 1 ? 0 : rest % of_y * step;
      step *= size, rest /= of_y;
    }
  }
  return at;
}

// `a_at` and `b_at` outlive the job.
void set_systems(const planned::StepCx& cx, const std::vector<int64_t>& a_at,
                 const std::vector<int64_t>& b_at, Systems& job) {
  job.type = *elem_of(cx.in(0).dtype);
  job.n = cx.in(0).size(-1);
  job.k = cx.in(1).size(-1);
  job.a_at = a_at;
  job.b_at = b_at;
  job.a = cx.in(0).data;
  job.b = cx.in(1).data;
  job.y = cx.out(0).data;
}

planned::Status launch_cholesky(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  const Cholesky job{.type = *elem_of(x.dtype),
                     .upper = cx.attrs<lamella::Cholesky::Attrs>().upper,
                     .batch = n_matrices(x),
                     .n = x.size(-1),
                     .x = x.data,
                     .y = cx.out(0).data};
  return status_of_matrix(planned::Status::not_positive_definite,
                          cholesky(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_triangular(const planned::StepCx& cx) {
  const auto& how = cx.attrs<TriangleAttrs>();
  const auto a_at = places(cx.in(0), cx.out(0)), b_at = places(cx.in(1), cx.out(0));
  TriangularSystems job;
  set_systems(cx, a_at, b_at, job);
  job.upper = how.upper;
  job.transpose = how.transpose;
  job.unit_diagonal = how.unit_diagonal;
  return status_of_matrix(planned::Status::singular,
                          solve_triangular(job, *device_of(cx).pool, device_of(cx).isa));
}

int64_t lu_workspace(const planned::StepCx& cx) {
  const planned::Operand& a = cx.in(0);
  // One a system: those of b may be more than those of a.
  const int64_t batch = cx.n_inputs() > 1 ? n_matrices(cx.out(0)) : n_matrices(a);
  return lu_scratch_bytes(*elem_of(a.dtype), batch, a.size(-1), *device_of(cx).pool);
}

planned::Status launch_solve(const planned::StepCx& cx) {
  const auto a_at = places(cx.in(0), cx.out(0)), b_at = places(cx.in(1), cx.out(0));
  Systems job;
  set_systems(cx, a_at, b_at, job);
  return status_of_matrix(planned::Status::singular,
                          solve(job, cx.workspace(), *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_det(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  const Determinants job{.type = *elem_of(x.dtype),
                         .batch = n_matrices(x),
                         .n = x.size(-1),
                         .x = x.data,
                         .y = cx.out(0).data};
  determinants(job, cx.workspace(), *device_of(cx).pool, device_of(cx).isa);
  return {};
}

}  // namespace

std::span<const planned::Row> linear_systems_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<lamella::Cholesky>, .name = "cholesky", .launch = launch_cholesky},
      {.op = &op<Det>, .name = "det", .launch = launch_det, .workspace = lu_workspace},
      {.op = &op<Solve>, .name = "solve", .launch = launch_solve, .workspace = lu_workspace},
      {.op = &op<TriangularSolve>, .name = "triangular_solve", .launch = launch_triangular},
  };
  return kRows;
}

}  // namespace lamella::cpu
