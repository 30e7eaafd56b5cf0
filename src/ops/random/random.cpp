#include "lamella/ops/families.h"

#include "lamella/ops/random/bernoulli.h"
#include "lamella/ops/random/categorical.h"
#include "lamella/ops/random/fold_in.h"
#include "lamella/ops/random/normal.h"
#include "lamella/ops/random/permutation.h"
#include "lamella/ops/random/random_int.h"
#include "lamella/ops/random/truncated_normal.h"
#include "lamella/ops/random/uniform.h"

namespace lamella {

std::span<const Op* const> random_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Bernoulli>,   &op<Categorical>, &op<FoldIn>,          &op<Normal>,
      &op<Permutation>, &op<RandomInt>,   &op<TruncatedNormal>, &op<Uniform>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
