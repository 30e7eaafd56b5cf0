// Packing of activations on avx2.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"

namespace lamella::cpu {

void pack_row_avx2(const PackRow& row) { pack_row<Avx2>(row); }

}  // namespace lamella::cpu
