// Packing of activations on avx512.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {

const PackKernel avx512::kPackRow = pack_row<Avx512>;

}  // namespace lamella::cpu
