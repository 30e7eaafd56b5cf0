#include "lamella/ops/families.h"

#include "lamella/ops/quant/pack.h"
#include "lamella/ops/quant/unpack.h"

namespace lamella {

std::span<const Op* const> quant_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Pack>, &op<Unpack>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
