// Packing of activations on scalar.
#include "lamella/kernels/cpu/pack_impl.h"
#include "lamella/kernels/cpu/unit_scalar.h"

namespace lamella::cpu {

void pack_row_scalar(const PackRow& row) { pack_row<Scalar>(row); }

}  // namespace lamella::cpu
