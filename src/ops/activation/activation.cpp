#include "lamella/ops/families.h"

#include "lamella/ops/activation/celu.h"
#include "lamella/ops/activation/clamped_swiglu.h"
#include "lamella/ops/activation/elu.h"
#include "lamella/ops/activation/glu.h"
#include "lamella/ops/activation/hard_sigmoid.h"
#include "lamella/ops/activation/hard_swish.h"
#include "lamella/ops/activation/leaky_relu.h"
#include "lamella/ops/activation/log_sigmoid.h"
#include "lamella/ops/activation/mish.h"
#include "lamella/ops/activation/prelu.h"
#include "lamella/ops/activation/quick_gelu.h"
#include "lamella/ops/activation/relu6.h"
#include "lamella/ops/activation/relu_squared.h"
#include "lamella/ops/activation/selu.h"
#include "lamella/ops/activation/shrink.h"
#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/activation/softsign.h"
#include "lamella/ops/activation/thresholded_relu.h"

namespace lamella {

std::span<const Op* const> activation_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Celu>,        &op<ClampedSwiglu>, &op<Elu>,
      &op<Glu>,         &op<HardSigmoid>,   &op<HardSwish>,
      &op<LeakyRelu>,   &op<LogSigmoid>,    &op<Mish>,
      &op<Prelu>,       &op<QuickGelu>,     &op<Relu6>,
      &op<ReluSquared>, &op<Selu>,          &op<Shrink>,
      &op<Softplus>,    &op<Softsign>,      &op<ThresholdedRelu>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
