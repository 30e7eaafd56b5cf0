#include "lamella/ops/families.h"

#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/relayout.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/shape_of.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/slice_update.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

std::span<const Op* const> shape_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Concat>, &op<Expand>,      &op<Iota>,  &op<Relayout>, &op<Reshape>,   &op<ShapeOf>,
      &op<Slice>,  &op<SliceUpdate>, &op<Split>, &op<Squeeze>,  &op<Transpose>, &op<Unsqueeze>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
