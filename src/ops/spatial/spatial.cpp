#include "lamella/ops/families.h"
#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_grad_w.h"
#include "lamella/ops/spatial/conv_transpose.h"

namespace lamella {

std::span<const Op* const> spatial_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Conv>, &op<ConvGradW>, &op<ConvTranspose>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
