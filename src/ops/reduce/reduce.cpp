#include "lamella/ops/families.h"

#include "lamella/ops/reduce/all.h"
#include "lamella/ops/reduce/any.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/argmin.h"
#include "lamella/ops/reduce/argsort.h"
#include "lamella/ops/reduce/cummax.h"
#include "lamella/ops/reduce/cummin.h"
#include "lamella/ops/reduce/cumprod.h"
#include "lamella/ops/reduce/cumsum.h"
#include "lamella/ops/reduce/logsumexp.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/mean.h"
#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/norm.h"
#include "lamella/ops/reduce/prod.h"
#include "lamella/ops/reduce/sort.h"
#include "lamella/ops/reduce/std.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/sum_to.h"
#include "lamella/ops/reduce/top_k.h"
#include "lamella/ops/reduce/var.h"

namespace lamella {

std::span<const Op* const> reduce_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<All>,    &op<Any>,     &op<Argmax>, &op<Argmin>,    &op<Argsort>, &op<Cummax>,
      &op<Cummin>, &op<Cumprod>, &op<Cumsum>, &op<Logsumexp>, &op<Max>,     &op<Mean>,
      &op<Min>,    &op<Norm>,    &op<Prod>,   &op<Sort>,      &op<Std>,     &op<Sum>,
      &op<SumTo>,  &op<TopK>,    &op<Var>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
