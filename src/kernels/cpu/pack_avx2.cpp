// Packing of activations on avx2.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"

namespace lamella::cpu {

const PackKernel avx2::kPackRow = pack_row<Avx2>;

}  // namespace lamella::cpu
