// What the ops on batches of square matrices share: checks, walks, factors in f64, samples.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

inline constexpr DType kSolverTypes[] = {kF32, kF64};

// Input i holds square matrices [..., n, n] of f32 or f64; gives n.
Dim check_square(TypeCx& cx, size_t i);
// Inputs a [..., n, n] and b [..., n, k] of one type, whose leading axes broadcast: gives the sizes
// of the x in a x = b.
Shape check_system(TypeCx& cx);

// x with its last two axes exchanged.
Value swap_last_two(Value x);
// The identity in the type of x, of the size of its matrices.
Value identity_like(Value x);

// Calls visit(system, offset in a, offset in b) for each system of the batch, in order.
template <class Visit>
void visit_systems(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                   const std::vector<int64_t>& y, Visit visit) {
  const auto lead = [](const std::vector<int64_t>& shape) {
    return std::vector<int64_t>(shape.begin(), shape.end() - 2);
  };
  const auto size = [](const std::vector<int64_t>& shape) {
    return shape[shape.size() - 2] * shape.back();
  };
  const std::vector<int64_t> of_a = lead(a), of_b = lead(b);
  for (Index at(lead(y)); !at.done(); at.next())
    visit(static_cast<int64_t>(at.flat()), at.broadcast_offset(of_a) * size(a),
          at.broadcast_offset(of_b) * size(b));
}

// Which part of a matrix a triangular system reads, and how.
struct TriangleAttrs {
  bool upper = false;
  bool transpose = false;
  bool unit_diagonal = false;
  bool operator==(const TriangleAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("upper", &TriangleAttrs::upper), f("transpose", &TriangleAttrs::transpose),
        f("unit_diagonal", &TriangleAttrs::unit_diagonal);
  }
};
// Solves with the triangle of a [n, n] for x [n, k], which holds b; false where the diagonal has a
// 0.
bool solve_triangle(const double* a, int64_t n, const TriangleAttrs& how, double* x, int64_t k);

// The LU factors of a matrix with its rows exchanged, by partial pivoting.
struct LuFactors {
  std::vector<double> lu;
  std::vector<int64_t> rows;  // row i of the factors is this row of the matrix
  double sign = 1;            // of the exchange
  bool is_singular = false;   // a pivot is 0
};
LuFactors lu_factors(const double* a, int64_t n);

// A literal input of matrices [..., n, m] that are far from singular: small numbers, and in row i a
// large one in column i + shift.
In sample_matrices(std::vector<int64_t> shape, int64_t shift = 0, DType dtype = {});

}  // namespace lamella
