// What pack.cpp and its kernels agree on. Not for users.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/matmul.h"

namespace lamella::cpu {

// Blocks of one row: [n_blocks][block] codes, a scale a block, sums of 16.
struct PackRow {
  const uint8_t* x;  // elements, at any alignment
  Elem element;
  int64_t k;
  int block;
  uint8_t* codes;
  uint8_t* scales;
  uint8_t* sums;
};
using PackKernel = void (*)(const PackRow&);

LAMELLA_TABLE(PackKernel, kPackRow)

}  // namespace lamella::cpu
