#include "lamella/ops/families.h"

#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/index/scatter_nd.h"

namespace lamella {

std::span<const Op* const> index_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Gather>, &op<GatherNd>, &op<NonZero>, &op<OneHot>, &op<ScatterNd>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
