#include "lamella/ops/families.h"
#include "lamella/ops/recurrent/causal_conv1d.h"
#include "lamella/ops/recurrent/gated_delta_net.h"
#include "lamella/ops/recurrent/gated_delta_net_grad.h"
#include "lamella/ops/recurrent/gru.h"
#include "lamella/ops/recurrent/lstm.h"
#include "lamella/ops/recurrent/mamba2.h"
#include "lamella/ops/recurrent/mamba2_grad.h"
#include "lamella/ops/recurrent/recurrence_grad.h"
#include "lamella/ops/recurrent/rnn.h"
#include "lamella/ops/recurrent/selective_scan.h"
#include "lamella/ops/recurrent/selective_scan_grad.h"

namespace lamella {

std::span<const Op* const> recurrent_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<CausalConv1d>, &op<GatedDeltaNet>, &op<GatedDeltaNetGrad>, &op<Gru>,
      &op<Lstm>,         &op<Mamba2>,        &op<Mamba2Grad>,        &op<RecurrenceGrad>,
      &op<Rnn>,          &op<SelectiveScan>, &op<SelectiveScanGrad>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
