#include "lamella/ops/families.h"
#include "lamella/ops/nn/ada_layer_norm.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/ops/nn/axial_rope.h"
#include "lamella/ops/nn/batch_norm.h"
#include "lamella/ops/nn/batch_norm_training.h"
#include "lamella/ops/nn/gated_residual.h"
#include "lamella/ops/nn/group_norm.h"
#include "lamella/ops/nn/instance_norm.h"
#include "lamella/ops/nn/l2_norm.h"
#include "lamella/ops/nn/layer_norm.h"
#include "lamella/ops/nn/layer_norm_2d.h"
#include "lamella/ops/nn/log_softmax.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/rope.h"
#include "lamella/ops/nn/rope_sections.h"
#include "lamella/ops/nn/rope_table.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/nn/softmax_cross_entropy.h"

namespace lamella {

std::span<const Op* const> nn_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<AdaLayerNorm>,
      &op<AddRmsNorm>,
      &op<AxialRope>,
      &op<BatchNorm>,
      &op<BatchNormTraining>,
      &op<GatedResidual>,
      &op<GroupNorm>,
      &op<InstanceNorm>,
      &op<L2Norm>,
      &op<LayerNorm2d>,
      &op<LayerNorm>,
      &op<LogSoftmax>,
      &op<RmsNorm>,
      &op<Rope>,
      &op<RopeSections>,
      &op<RopeTable>,
      &op<Softmax>,
      &op<SoftmaxCrossEntropy>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
