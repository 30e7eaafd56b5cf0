#include "lamella/ops/families.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/ops/nn/layer_norm.h"
#include "lamella/ops/nn/log_softmax.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/ops/nn/softmax.h"

namespace lamella {

std::span<const Op* const> nn_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<AddRmsNorm>, &op<LayerNorm>, &op<LogSoftmax>, &op<RmsNorm>, &op<Rope>, &op<Softmax>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
