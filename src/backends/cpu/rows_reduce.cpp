// Reductions and what walks along one axis.
#include <vector>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/reduce.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/argmin.h"
#include "lamella/ops/reduce/cummax.h"
#include "lamella/ops/reduce/cummin.h"
#include "lamella/ops/reduce/cumprod.h"
#include "lamella/ops/reduce/cumsum.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/mean.h"
#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/prod.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/sum_to.h"
#include "lamella/ops/reduce/top_k.h"

namespace lamella::cpu {
namespace {

constexpr size_t kMaxRank = 16;

bool plain_accepts(const Graph& g, const Node& n, const void*) {
  const Type& x = type_of_input(g, n, 0);
  return elem_of(x.dtype).has_value() && x.rank() <= kMaxRank;
}

planned::Status run_reduce(const planned::StepCx& cx, Reduce::Kind kind, const uint8_t* reduced) {
  const planned::Operand& x = cx.in(0);
  Reduce job;
  job.kind = kind;
  job.elem = *elem_of(x.dtype);
  job.shape = x.sizes();
  job.strides = {x.strides, x.rank};
  job.reduced = {reduced, x.rank};
  job.x = x.data;
  job.y = cx.out(0).data;
  reduce(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}

template <Reduce::Kind kKind>
planned::Status launch_reduce(const planned::StepCx& cx) {
  const std::vector<bool> axes = reduced_axes(cx.attrs<ReduceAttrs>(), cx.in(0).rank);
  uint8_t reduced[kMaxRank] = {};
  for (size_t i = 0; i < axes.size(); ++i) reduced[i] = axes[i];
  return run_reduce(cx, kKind, reduced);
}

// Axes that the result lacks or has with size 1.
planned::Status launch_sum_to(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  uint8_t reduced[kMaxRank] = {};
  const uint32_t added = x.rank - y.rank;
  for (uint32_t i = 0; i < x.rank; ++i)
    reduced[i] = i < added || (y.shape[i - added] == 1 && x.shape[i] != 1);
  return run_reduce(cx, Reduce::Kind::sum, reduced);
}

AxisView view_of(const planned::Operand& x, int64_t axis) {
  if (axis < 0) axis += x.rank;
  AxisView v;
  v.elem = *elem_of(x.dtype);
  for (int64_t d = 0; d < axis; ++d) v.outer *= x.shape[d];
  v.axis = x.shape[axis];
  for (int64_t d = axis + 1; d < x.rank; ++d) v.inner *= x.shape[d];
  return v;
}

template <bool kLargest>
planned::Status launch_position(const planned::StepCx& cx) {
  const auto& a = cx.attrs<Argmax::Attrs>();
  ArgReduce job;
  job.view = view_of(cx.in(0), a.axis);
  job.largest = kLargest;
  job.last = a.last;
  job.x = cx.in(0).data;
  job.y = cx.out(0).as<int64_t>();
  if (job.view.axis > 0 && cx.out(0).numel() > 0)
    arg_reduce(job, *device_of(cx).pool, device_of(cx).isa);
  return {};
}

template <bool kProduct>
planned::Status launch_cumsum(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::Cumsum::Attrs>();
  cpu::Cumsum job;
  job.view = view_of(cx.in(0), a.axis);
  job.exclusive = a.exclusive;
  job.reverse = a.reverse;
  job.product = kProduct;
  job.x = cx.in(0).data;
  job.y = cx.out(0).data;
  if (cx.out(0).numel() > 0) cumsum(job, *device_of(cx).pool);
  return {};
}

template <bool kLargest>
planned::Status launch_extremes(const planned::StepCx& cx) {
  const auto& a = cx.attrs<CumExtremeAttrs>();
  cpu::CumExtreme job;
  job.view = view_of(cx.in(0), a.axis);
  job.largest = kLargest;
  job.reverse = a.reverse;
  job.x = cx.in(0).data;
  job.values = cx.out(0).data;
  job.indices = cx.out(1).as<int64_t>();
  if (cx.out(0).numel() > 0) cum_extreme(job, *device_of(cx).pool);
  return {};
}

planned::Status launch_top_k(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::TopK::Attrs>();
  const planned::Operand& values = cx.out(0);
  cpu::TopK job;
  job.view = view_of(cx.in(0), a.axis);
  job.k = values.shape[a.axis < 0 ? a.axis + values.rank : a.axis];
  job.largest = a.largest;
  job.x = cx.in(0).data;
  job.values = values.data;
  job.indices = cx.out(1).as<int64_t>();
  if (values.numel() == 0) return {};
  return status_of(top_k(job, *device_of(cx).pool));
}

template <class T, Reduce::Kind kKind>
planned::Row reduce_row(std::string_view name) {
  planned::Row row{.op = &op<T>, .name = name};
  row.accepts = plain_accepts;
  row.launch = launch_reduce<kKind>;
  row.strided_inputs = 1;
  return row;
}

}  // namespace

std::span<const planned::Row> reduce_rows() {
  static const std::vector<planned::Row> rows{
      {.op = &op<Argmax>,
       .name = "argmax",
       .accepts = plain_accepts,
       .launch = launch_position<true>},
      {.op = &op<Argmin>,
       .name = "argmin",
       .accepts = plain_accepts,
       .launch = launch_position<false>},
      {.op = &op<Cummax>,
       .name = "cummax",
       .accepts = plain_accepts,
       .launch = launch_extremes<true>},
      {.op = &op<Cummin>,
       .name = "cummin",
       .accepts = plain_accepts,
       .launch = launch_extremes<false>},
      {.op = &op<Cumprod>,
       .name = "cumprod",
       .accepts = plain_accepts,
       .launch = launch_cumsum<true>},
      {.op = &op<lamella::Cumsum>,
       .name = "cumsum",
       .accepts = plain_accepts,
       .launch = launch_cumsum<false>},
      reduce_row<Max, Reduce::Kind::max>("max"),
      reduce_row<Mean, Reduce::Kind::mean>("mean"),
      reduce_row<Min, Reduce::Kind::min>("min"),
      reduce_row<Prod, Reduce::Kind::prod>("prod"),
      reduce_row<Sum, Reduce::Kind::sum>("sum"),
      {.op = &op<SumTo>,
       .name = "sum_to",
       .accepts = plain_accepts,
       .launch = launch_sum_to,
       .strided_inputs = 1},
      {.op = &op<lamella::TopK>, .name = "top_k", .accepts = plain_accepts, .launch = launch_top_k},
  };
  return rows;
}

}  // namespace lamella::cpu
