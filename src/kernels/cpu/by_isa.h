// Picks the variant of a kernel table for an instruction set. Tables exist for scalar, avx2 and
// avx512, which newer sets take too; other machines take scalar.
#pragma once

#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

template <class Table>
const Table& by_isa(Isa isa, const Table& scalar, const Table& avx2, const Table& avx512) {
  if (isa == Isa::avx512 || isa == Isa::avx512_bf16 || isa == Isa::amx) return avx512;
  return isa == Isa::avx2 ? avx2 : scalar;
}

}  // namespace lamella::cpu
