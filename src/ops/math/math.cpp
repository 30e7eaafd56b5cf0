#include "lamella/ops/families.h"

#include "lamella/ops/math/add.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/mul.h"

namespace lamella {

std::span<const Op* const> math_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Add>,
      &op<Exp>,
      &op<Less>,
      &op<Mul>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
