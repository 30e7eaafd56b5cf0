#include "lamella/ops/families.h"

#include "lamella/ops/random/fold_in.h"
#include "lamella/ops/random/normal.h"
#include "lamella/ops/random/uniform.h"

namespace lamella {

std::span<const Op* const> random_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<FoldIn>, &op<Normal>, &op<Uniform>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
