// Rounding of rows for one instruction set. Included by kv_append_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/kv_append.h"
#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

template <class T>
void narrow(const float* x, void* row, int64_t n) {
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(static_cast<T*>(row) + i, load_lanes(x + i, lanes), lanes);
  });
}

}  // namespace

const KvAppendTable kKvAppendTable = {narrow<f16>, narrow<bf16>};

}  // namespace lamella::cpu::LAMELLA_ISA
