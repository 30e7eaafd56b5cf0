// Packing of activations on avx512.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {

void pack_row_avx512(const PackRow& row) { pack_row<Avx512>(row); }

}  // namespace lamella::cpu
