// Packing of activations on scalar.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_scalar.h"

namespace lamella::cpu {

const PackKernel scalar::kPackRow = pack_row<Scalar>;

}  // namespace lamella::cpu
