// Fake quantisation.
#include <algorithm>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/fake_quantize.h"
#include "lamella/ops/quant/fake_quantize.h"

namespace lamella::cpu {
namespace {

bool accepts(const Graph& g, const Node& n, const void*) {
  const Type& x = type_of_input(g, n, 0);
  const auto& a = n.attrs.as<FakeQuantizeAttrs>();
  const bool is_whole = !a.per_channel || a.axis == 0 || a.axis == -static_cast<int64_t>(x.rank());
  return is_whole && (x.dtype == kF32 || x.dtype == kF16 || x.dtype == kBF16) &&
         (!has_input(n, 1) || type_of_input(g, n, 1).dtype == kF32);
}

FakeQuantize job_of(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &scale = cx.out(1);
  FakeQuantize job;
  job.type = *elem_of(x.dtype);
  job.channels = scale.numel();
  job.n = job.channels == 0 ? 0 : x.numel() / job.channels;
  job.q_max = static_cast<float>(cx.attrs<FakeQuantizeAttrs>().q_max());
  job.x = x.data;
  job.scale = scale.as<const float>();
  job.y = cx.out(0).data;
  return job;
}

int64_t workspace(const planned::StepCx& cx) {
  return magnitude_parts(job_of(cx)) * static_cast<int64_t>(sizeof(float));
}

// The constants of the op's formula are f32, its sums are not.
float moved(float before, float most, const FakeQuantizeAttrs& a) {
  const double now = static_cast<double>(most) / a.q_max();
  if (a.mode == ScaleMode::batch || before == 0) return static_cast<float>(now);
  const double keep = static_cast<double>(static_cast<float>(a.momentum));
  const double take = static_cast<double>(static_cast<float>(1 - a.momentum));
  return static_cast<float>(static_cast<double>(before) * keep + now * take);
}

planned::Status launch(const planned::StepCx& cx) {
  const auto& a = cx.attrs<FakeQuantizeAttrs>();
  const FakeQuantize job = job_of(cx);
  const Device& device = device_of(cx);
  float* scale = cx.out(1).as<float>();
  const float* given = cx.has(1) ? cx.in(1).as<const float>() : nullptr;
  if (a.mode == ScaleMode::batch || a.mode == ScaleMode::ema) {
    magnitudes(job, reinterpret_cast<float*>(cx.workspace()), scale, *device.pool, device.isa);
    for (int64_t i = 0; i < job.channels; ++i) scale[i] = moved(given ? given[i] : 0, scale[i], a);
  } else {
    std::copy_n(given, job.channels, scale);
  }
  fake_quantize(job, *device.pool, device.isa);
  return {};
}

}  // namespace

std::span<const planned::Row> quant_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<lamella::FakeQuantize>,
       .name = "fake_quantize",
       .accepts = accepts,
       .launch = launch,
       .workspace = workspace,
       .in_place_inputs = 1},
  };
  return kRows;
}

}  // namespace lamella::cpu
