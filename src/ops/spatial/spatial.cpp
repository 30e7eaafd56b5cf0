#include "lamella/ops/families.h"
#include "lamella/ops/spatial/average_pool.h"
#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_grad_w.h"
#include "lamella/ops/spatial/conv_transpose.h"
#include "lamella/ops/spatial/max_pool.h"
#include "lamella/ops/spatial/resize.h"

namespace lamella {

std::span<const Op* const> spatial_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<AveragePool>, &op<Conv>, &op<ConvGradW>, &op<ConvTranspose>, &op<MaxPool>, &op<Resize>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
