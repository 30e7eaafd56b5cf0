#include "lamella/ops/families.h"

#include "lamella/ops/index/compress.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/gather_elements.h"
#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/index/scatter_add.h"
#include "lamella/ops/index/scatter_elements.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/index/searchsorted.h"
#include "lamella/ops/index/take_along.h"
#include "lamella/ops/index/unique.h"

namespace lamella {

std::span<const Op* const> index_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Compress>,  &op<Gather>,       &op<GatherElements>, &op<GatherNd>,
      &op<NonZero>,   &op<OneHot>,       &op<ScatterAdd>,     &op<ScatterElements>,
      &op<ScatterNd>, &op<Searchsorted>, &op<TakeAlong>,      &op<Unique>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
