#include "lamella/ops/families.h"

#include "lamella/ops/control/if.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/control/scan.h"

namespace lamella {

std::span<const Op* const> control_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<If>, &op<Loop>, &op<Scan>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
