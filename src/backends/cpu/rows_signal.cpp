// Fourier transforms.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/fft.h"
#include "lamella/ops/signal/fft.h"
#include "lamella/ops/signal/irfft.h"
#include "lamella/ops/signal/rfft.h"

namespace lamella::cpu {
namespace {

bool float_accepts(const Graph& g, const Node& n, const void*) {
  const auto elem = elem_of(type_of_input(g, n, 0).dtype);
  return elem && is_float(*elem);
}

planned::Status run(const planned::StepCx& cx, Fft job, int64_t n, int64_t row) {
  job.elem = *elem_of(cx.in(0).dtype);
  job.n = n;
  job.rows = row == 0 ? 0 : cx.in(0).numel() / row;
  job.x = cx.in(0).data;
  job.y = cx.out(0).data;
  return status_of(fft(job, *device_of(cx).pool));
}

planned::Status launch_fft(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::Fft::Attrs>();
  const int64_t n = cx.in(0).size(-2);
  Fft job{.inverse = a.inverse};
  if (a.inverse && a.scaled) job.factor = 1 / static_cast<double>(n);
  return run(cx, job, n, 2 * n);
}

planned::Status launch_rfft(const planned::StepCx& cx) {
  const int64_t n = cx.in(0).size(-1);
  return run(cx, {.kind = Fft::Kind::to_half}, n, n);
}

planned::Status launch_irfft(const planned::StepCx& cx) {
  const int64_t n = cx.out(0).size(-1);
  const Fft job{.kind = Fft::Kind::to_real, .inverse = true, .factor = 1 / static_cast<double>(n)};
  return run(cx, job, n, 2 * (n / 2 + 1));
}

}  // namespace

std::span<const planned::Row> signal_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<lamella::Fft>, .name = "fft", .accepts = float_accepts, .launch = launch_fft},
      {.op = &op<Irfft>, .name = "irfft", .accepts = float_accepts, .launch = launch_irfft},
      {.op = &op<Rfft>, .name = "rfft", .accepts = float_accepts, .launch = launch_rfft},
  };
  return kRows;
}

}  // namespace lamella::cpu
