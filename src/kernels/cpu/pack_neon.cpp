// Packing of activations on neon.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_neon.h"

namespace lamella::cpu {

const PackKernel neon::kPackRow = pack_row<Neon>;

}  // namespace lamella::cpu
