#include "lamella/ops/families.h"
#include "lamella/ops/signal/fft.h"
#include "lamella/ops/signal/irfft.h"
#include "lamella/ops/signal/istft.h"
#include "lamella/ops/signal/log_mel.h"
#include "lamella/ops/signal/rfft.h"
#include "lamella/ops/signal/stft.h"

namespace lamella {

std::span<const Op* const> signal_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Fft>, &op<Irfft>, &op<Istft>, &op<LogMel>, &op<Rfft>, &op<Stft>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
