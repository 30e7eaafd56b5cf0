// Activations packed as q8_32 or q8_256, with the same bits as Format::encode on every instruction
// set.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/matmul.h"
#include "lamella/quant/format.h"

namespace lamella::cpu {

// x[m, k] of `element` rows to `planes` (rows one after another in each plane).
struct PackCall {
  Isa isa = Isa::scalar;
  Elem element = Elem::f32;
  const void* x = nullptr;
  int64_t row_stride = 0;  // in elements
  int64_t m = 0, k = 0;
  const quant::Format* format = nullptr;  // q8_32 or q8_256
  quant::MutableBlockPtr planes{};
};
void pack_rows(const PackCall& call, ThreadPool& pool);

}  // namespace lamella::cpu
