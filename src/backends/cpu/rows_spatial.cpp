// Convolutions and pools.
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/conv.h"
#include "lamella/kernels/cpu/max_pool.h"
#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_grad_w.h"
#include "lamella/ops/spatial/conv_transpose.h"
#include "lamella/ops/spatial/max_pool.h"

namespace lamella::cpu {
namespace {

bool float_accepts(const Graph& g, const Node& n, const void*) {
  const auto elem = elem_of(type_of_input(g, n, 0).dtype);
  return elem && is_float(*elem);
}

ConvJob job_of(const ConvGeometry& g, const planned::Operand& wide,
               const planned::Operand& narrow) {
  ConvJob job;
  job.elem = *elem_of(wide.dtype);
  for (size_t i = 0; i < kMaxConvAxes; ++i) {
    const lamella::ConvAxis& x = g.axes[i];
    job.axes[i] = {x.wide, x.narrow, x.kernel, x.stride, x.dilation, x.pad};
  }
  job.batch = g.batch;
  job.groups = g.groups;
  job.wide_channels = g.wide_channels;
  job.narrow_channels = g.narrow_channels;
  job.wide = wide.data;
  job.narrow = narrow.data;
  return job;
}

ConvJob conv_job(const ConvAttrs& a, const planned::Operand& wide, const planned::Operand& narrow,
                 const planned::Operand& w) {
  ConvJob job = job_of(conv_geometry(a, wide.sizes(), narrow.sizes(), w.sizes()), wide, narrow);
  job.w = w.data;
  return job;
}

planned::Status launch_conv(const planned::StepCx& cx) {
  ConvJob job = conv_job(cx.attrs<ConvAttrs>(), cx.in(0), cx.out(0), cx.in(1));
  if (cx.has(2)) job.bias = cx.in(2).data;
  return status_of(conv(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_conv_transpose(const planned::StepCx& cx) {
  const ConvAttrs a = cx.attrs<ConvTranspose::Attrs>().as_conv();
  ConvJob job = conv_job(a, cx.out(0), cx.in(0), cx.in(1));
  if (cx.has(2)) job.bias = cx.in(2).data;
  return status_of(conv_transpose(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_conv_grad_w(const planned::StepCx& cx) {
  const ConvJob job = conv_job(cx.attrs<ConvAttrs>(), cx.in(0), cx.in(1), cx.out(0));
  return status_of(conv_grad_w(job, *device_of(cx).pool, device_of(cx).isa));
}

planned::Status launch_max_pool(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  const ConvJob job = job_of(pool_geometry(cx.attrs<PoolAttrs>(), x.sizes(), y.sizes()), x, y);
  int64_t* places = cx.node().n_saved > 0 ? cx.out(1).as<int64_t>() : nullptr;
  return status_of(max_pool(job, places, *device_of(cx).pool, device_of(cx).isa));
}

}  // namespace

std::span<const planned::Row> spatial_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<Conv>, .name = "conv", .accepts = float_accepts, .launch = launch_conv},
      {.op = &op<ConvGradW>,
       .name = "conv_grad_w",
       .accepts = float_accepts,
       .launch = launch_conv_grad_w},
      {.op = &op<ConvTranspose>,
       .name = "conv_transpose",
       .accepts = float_accepts,
       .launch = launch_conv_transpose},
      {.op = &op<MaxPool>, .name = "max_pool", .accepts = float_accepts, .launch = launch_max_pool},
  };
  return kRows;
}

}  // namespace lamella::cpu
