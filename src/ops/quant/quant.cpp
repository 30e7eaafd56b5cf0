#include "lamella/ops/families.h"
#include "lamella/ops/quant/fake_quantize.h"
#include "lamella/ops/quant/fake_quantize_grad.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/ops/quant/unpack.h"

namespace lamella {

std::span<const Op* const> quant_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<FakeQuantizeGrad>, &op<FakeQuantize>, &op<Pack>, &op<Unpack>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
