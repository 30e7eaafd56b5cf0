#include "lamella/ops/families.h"

#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/cumsum.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/mean.h"
#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/prod.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/sum_to.h"
#include "lamella/ops/reduce/top_k.h"

namespace lamella {

std::span<const Op* const> reduce_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Argmax>, &op<Cumsum>, &op<Max>,   &op<Mean>, &op<Min>,
      &op<Prod>,   &op<Sum>,    &op<SumTo>, &op<TopK>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
