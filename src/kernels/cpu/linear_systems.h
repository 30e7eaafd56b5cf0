// Cholesky factors, triangular systems, and LU factors with partial pivoting: dense matrices of f32
// or f64, computed in their own type. Each element is summed in one order, whatever the number of
// threads.
#pragma once

#include <span>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

// y = L with L L^T = x, or U with U^T U = x, for each matrix [n, n] of the batch.
struct Cholesky {
  Elem type = Elem::f32;
  bool upper = false;
  int64_t batch = 0, n = 0;
  const void* x = nullptr;
  void* y = nullptr;
};
// The first matrix that is not positive definite; -1: none.
int64_t cholesky(const Cholesky& job, ThreadPool& pool, Isa isa);

// y [n, k] of each system, with a y = b for the matrices a [n, n] and b [n, k] that stand there.
struct Systems {
  Elem type = Elem::f32;
  int64_t n = 0, k = 0;
  std::span<const int64_t> a_at, b_at;  // of each system: the matrix's place in its batch
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
};
// With a triangle of a.
struct TriangularSystems : Systems {
  bool upper = false, transpose = false, unit_diagonal = false;
};
// The first system with a 0 on the diagonal; -1: none.
int64_t solve_triangular(const TriangularSystems& job, ThreadPool& pool, Isa isa);

// Scratch memory for the LU factors of that many matrices.
int64_t lu_scratch_bytes(Elem type, int64_t batch, int64_t n, ThreadPool& pool);
// The first singular system; -1: none.
int64_t solve(const Systems& job, void* scratch, ThreadPool& pool, Isa isa);

// y[i] = det x[i].
struct Determinants {
  Elem type = Elem::f32;
  int64_t batch = 0, n = 0;
  const void* x = nullptr;
  void* y = nullptr;
};
void determinants(const Determinants& job, void* scratch, ThreadPool& pool, Isa isa);

// y[c] -= sum over r of factors[r * factor_step] * rows[r * row_step + c], for c < width: what all
// of the above is made of.
template <class T>
struct SubtractRows {
  const T* factors;
  int64_t factor_step;
  const T* rows;
  int64_t row_step, n_rows, width;
  T* y;
};
struct LinearSystemsTable {
  void (*subtract_f32)(const SubtractRows<float>&);
  void (*subtract_f64)(const SubtractRows<double>&);
};
LAMELLA_TABLE(LinearSystemsTable, kLinearSystemsTable)

}  // namespace lamella::cpu
