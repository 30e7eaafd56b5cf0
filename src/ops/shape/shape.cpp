#include "lamella/ops/families.h"

#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/diagonal.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/eye.h"
#include "lamella/ops/shape/fill.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/meshgrid.h"
#include "lamella/ops/shape/pad.h"
#include "lamella/ops/shape/range.h"
#include "lamella/ops/shape/relayout.h"
#include "lamella/ops/shape/repeat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/reverse.h"
#include "lamella/ops/shape/roll.h"
#include "lamella/ops/shape/shape_of.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/slice_update.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/tile.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/triangle.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

std::span<const Op* const> shape_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Concat>,   &op<Diagonal>, &op<Expand>,    &op<Eye>,      &op<Fill>,        &op<Iota>,
      &op<Meshgrid>, &op<Pad>,      &op<Range>,     &op<Relayout>, &op<Repeat>,      &op<Reshape>,
      &op<Reverse>,  &op<Roll>,     &op<ShapeOf>,   &op<Slice>,    &op<SliceUpdate>, &op<Split>,
      &op<Squeeze>,  &op<Tile>,     &op<Transpose>, &op<Triangle>, &op<Unsqueeze>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
