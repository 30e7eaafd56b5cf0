// Rows times the matrices of the experts that they choose, by the kernels of matmul.h: only chosen
// matrices are read, and the bits of a row are those of a product with its matrix alone.
#pragma once

#include "lamella/kernels/cpu/matmul.h"

namespace lamella::cpu {

// y[t, s] = w[expert[t, s]] x[t, s], or x[t] where the slots of a token share it.
struct GroupedMatmul {
  Isa isa = Isa::scalar;
  Phase phase = Phase::bulk;
  int64_t tokens = 0, slots = 0, experts = 0, n = 0, k = 0;
  bool shares_x = false;
  Activations x;                    // rows one after another
  Weights w;                        // the matrices [n, k] one after another
  const int32_t* expert = nullptr;  // [tokens, slots]
  float* y = nullptr;               // [tokens, slots, n]
};

// Bytes of scratch, for any experts that the rows may choose.
int64_t grouped_matmul_workspace(const GroupedMatmul& job, ThreadPool& pool);

// `workspace` is of at least that size, at a multiple of 64.
Status grouped_matmul(const GroupedMatmul& job, std::byte* workspace, ThreadPool& pool);

}  // namespace lamella::cpu
