#include "lamella/ops/families.h"
#include "lamella/ops/linalg/matmul.h"

namespace lamella {

std::span<const Op* const> linalg_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Matmul>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
