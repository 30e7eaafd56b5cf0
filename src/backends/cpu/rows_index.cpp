// Ops that take positions.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/gather.h"
#include "lamella/kernels/cpu/index_ops.h"
#include "lamella/kernels/cpu/unique.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/index/unique.h"

namespace lamella::cpu {
namespace {

// Rows of a matrix, decoded to f32.
bool table_accepts(const Graph& g, const Node& n, const void*) {
  const Type& x = type_of_input(g, n, 0);
  const int64_t axis = n.attrs.as<Gather::Attrs>().axis;
  return x.rank() == 2 && (axis == 0 || axis == -2) && is_weight_type(x.dtype) &&
         n.outputs[0].dtype == kF32;
}

planned::Status launch_table(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &ids = cx.in(1);
  GatherCall call;
  call.table = weights_of(x);
  call.n = x.size(0);
  call.k = x.size(1);
  call.ids = ids.data;
  call.id_elem = *elem_of(ids.dtype);
  call.n_ids = ids.numel();
  call.y = cx.out(0).as<float>();
  call.y_stride = call.k;
  return status_of(gather_rows(call, *device_of(cx).pool), &ids);
}

bool plain_accepts(const Graph& g, const Node& n, const void*) {
  return elem_of(type_of_input(g, n, 0).dtype).has_value();
}

planned::Status launch_gather(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &ids = cx.in(1);
  int64_t axis = cx.attrs<Gather::Attrs>().axis;
  if (axis < 0) axis += x.rank;
  GatherAxis job;
  for (int64_t d = 0; d < axis; ++d) job.outer *= x.shape[d];
  job.axis = x.shape[axis];
  job.inner_bytes = x.dtype.bytes();
  for (int64_t d = axis + 1; d < x.rank; ++d) job.inner_bytes *= x.shape[d];
  job.x = x.data;
  job.index_elem = *elem_of(ids.dtype);
  job.indices = ids.data;
  job.n = ids.numel();
  job.y = cx.out(0).data;
  return status_of(gather_axis(job, *device_of(cx).pool), &ids);
}

// The tuples along the last axis of `indices`, which address the leading axes of x.
Tuples tuples_of(const planned::Operand& x, const planned::Operand& indices) {
  Tuples t;
  t.axes = {x.shape, static_cast<size_t>(indices.size(-1))};
  t.index_elem = *elem_of(indices.dtype);
  t.indices = indices.data;
  t.n = 1;
  for (uint32_t d = 0; d + 1 < indices.rank; ++d) t.n *= indices.shape[d];
  return t;
}

int64_t slice_elements(const planned::Operand& x, const Tuples& t) {
  int64_t n = 1;
  for (uint32_t d = static_cast<uint32_t>(t.axes.size()); d < x.rank; ++d) n *= x.shape[d];
  return n;
}

planned::Status launch_gather_nd(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &indices = cx.in(1);
  cpu::GatherNd job;
  job.tuples = tuples_of(x, indices);
  job.slice_bytes = slice_elements(x, job.tuples) * x.dtype.bytes();
  job.x = x.data;
  job.y = cx.out(0).data;
  return status_of(gather_nd(job, *device_of(cx).pool), &indices);
}

// x is output 0 already: the plan aliases it, or copies it there first.
planned::Status launch_scatter_nd(const planned::StepCx& cx) {
  constexpr cpu::ScatterNd::Mode kModes[] = {cpu::ScatterNd::Mode::none, cpu::ScatterNd::Mode::add,
                                             cpu::ScatterNd::Mode::mul, cpu::ScatterNd::Mode::min,
                                             cpu::ScatterNd::Mode::max};
  const planned::Operand &indices = cx.in(1), &y = cx.out(0);
  cpu::ScatterNd job;
  job.mode = kModes[static_cast<int>(cx.attrs<lamella::ScatterNd::Attrs>().mode)];
  job.elem = *elem_of(y.dtype);
  job.tuples = tuples_of(y, indices);
  job.slice = slice_elements(y, job.tuples);
  job.updates = cx.in(2).data;
  job.y = y.data;
  return status_of(scatter_nd(job, *device_of(cx).pool), &indices);
}

planned::Status launch_one_hot(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::OneHot::Attrs>();
  const planned::Operand &indices = cx.in(0), &y = cx.out(0);
  const int64_t axis = a.axis < 0 ? a.axis + y.rank : a.axis;
  cpu::OneHot job;
  for (int64_t d = 0; d < axis; ++d) job.outer *= y.shape[d];
  job.depth = y.shape[axis];
  for (int64_t d = axis + 1; d < y.rank; ++d) job.inner *= y.shape[d];
  job.index_elem = *elem_of(indices.dtype);
  job.elem = *elem_of(y.dtype);
  job.indices = indices.data;
  job.on = a.on;
  job.off = a.off;
  job.y = y.data;
  one_hot(job, *device_of(cx).pool);
  return {};
}

bool one_hot_accepts(const Graph&, const Node& n, const void*) {
  return elem_of(n.outputs[0].dtype).has_value();
}

planned::Status launch_non_zero(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  const cpu::NonZero job{*elem_of(x.dtype), x.sizes(), x.data};
  const int64_t count = count_non_zero(job, *device_of(cx).pool);
  const int64_t shape[] = {x.rank, count};
  const planned::Operand& y = cx.allocate(0, shape);
  write_non_zero(job, count, y.as<int64_t>(), *device_of(cx).pool);
  return {};
}

planned::Status launch_unique(const planned::StepCx& cx) {
  const auto& a = cx.attrs<Unique::Attrs>();
  const planned::Operand& x = cx.in(0);
  UniqueJob job;
  job.elem = *elem_of(x.dtype);
  job.x = x.data;
  job.sorted = a.sorted;
  job.n = x.numel();
  std::vector<int64_t> shape(1);
  size_t axis = 0;
  if (a.axis) {
    axis = static_cast<size_t>(*a.axis < 0 ? *a.axis + static_cast<int64_t>(x.rank) : *a.axis);
    shape.assign(x.shape, x.shape + x.rank);
    job.n = shape[axis];
    for (size_t d = 0; d < axis; ++d) job.outer *= shape[d];
    for (size_t d = axis + 1; d < shape.size(); ++d) job.inner *= shape[d];
  }
  std::vector<int64_t> first(static_cast<size_t>(job.n)), scratch(first.size());
  int64_t* inverse = cx.allocate(2, {&job.n, 1}).as<int64_t>();
  const int64_t count = find_unique(job, first.data(), inverse, scratch.data());
  shape[axis] = count;
  std::byte* y = cx.allocate(0, shape).data;
  int64_t* places = cx.allocate(1, {&count, 1}).as<int64_t>();
  int64_t* counts = cx.allocate(3, {&count, 1}).as<int64_t>();
  std::copy_n(first.begin(), count, places);
  std::fill_n(counts, count, 0);
  for (int64_t i = 0; i < job.n; ++i) ++counts[inverse[i]];
  const int64_t bytes = job.inner * x.dtype.bytes();
  for (int64_t o = 0; o < job.outer && bytes > 0; ++o)
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(y + (o * count + k) * bytes,
                  x.data + (o * job.n + first[static_cast<size_t>(k)]) * bytes,
                  static_cast<size_t>(bytes));
  return {};
}

}  // namespace

std::span<const planned::Row> index_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<Gather>, .name = "gather_table", .accepts = table_accepts, .launch = launch_table},
      {.op = &op<Gather>, .name = "gather_axis", .accepts = plain_accepts, .launch = launch_gather},
      {.op = &op<lamella::GatherNd>,
       .name = "gather_nd",
       .accepts = plain_accepts,
       .launch = launch_gather_nd},
      {.op = &op<lamella::NonZero>,
       .name = "non_zero",
       .accepts = plain_accepts,
       .launch = launch_non_zero},
      {.op = &op<lamella::OneHot>,
       .name = "one_hot",
       .accepts = one_hot_accepts,
       .launch = launch_one_hot},
      {.op = &op<lamella::ScatterNd>,
       .name = "scatter_nd",
       .accepts = plain_accepts,
       .launch = launch_scatter_nd},
      {.op = &op<Unique>, .name = "unique", .accepts = plain_accepts, .launch = launch_unique},
  };
  return kRows;
}

}  // namespace lamella::cpu
