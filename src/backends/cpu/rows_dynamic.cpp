// Views whose sizes only the data decide, and updates of slices: positions are read when the step
// runs.
#include <algorithm>
#include <vector>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/ir/tensor.h"
#include "lamella/kernels/cpu/copy.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/range.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/slice_update.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella::cpu {
namespace {

std::vector<int64_t> numbers_of(const planned::Operand& x) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < x.numel(); ++i)
    out.push_back(load_int(x.dtype, x.data + i * x.dtype.bytes()));
  return out;
}

// Rows of an encoding move as wholes: the types' rules see to that.
bool moves_accepts(const Graph& g, const Node& n, const void*) {
  const Type& x = type_of_input(g, n, 0);
  return x.dtype.is_block() || x.dtype.bytes() > 0;
}
bool encoded_accepts(const Graph& g, const Node& n, const void*) {
  return type_of_input(g, n, 0).dtype.is_block();
}

bool plain_accepts(const Graph& g, const Node& n, const void*) {
  return type_of_input(g, n, 0).dtype.bytes() > 0 && !n.outputs[0].dtype.is_block();
}

// Output 0: made now where its sizes were not known, else there already.
const planned::Operand& output_of(const planned::StepCx& cx, std::span<const int64_t> shape) {
  return cx.node().fresh.empty() ? cx.out(0) : cx.allocate(0, shape);
}

// In elements. (An encoded tensor that a run made says none.)
std::vector<int64_t> strides_of(const planned::Operand& x) {
  if (!x.dtype.is_block()) return {x.strides, x.strides + x.rank};
  std::vector<int64_t> dense(x.rank, 1);
  for (size_t d = dense.size(); d-- > 1;) dense[d - 1] = dense[d] * x.shape[d];
  return dense;
}

// Elements of x from `offset` on, at these strides, to those of y.
void move(const planned::StepCx& cx, const planned::Operand& x, const planned::Operand& y,
          std::span<const int64_t> shape, std::span<const int64_t> x_strides,
          std::span<const int64_t> y_strides, int64_t offset = 0) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  if (!x.dtype.is_block()) {
    const int64_t bytes = x.dtype.bytes();
    return copy({bytes, shape, x_strides, y_strides, x.data + offset * bytes, y.data},
                *device_of(cx).pool);
  }
  const auto in_rows = [&](std::span<const int64_t> strides) {
    std::vector<int64_t> rows(strides.begin(), strides.end() - 1);
    for (int64_t& stride : rows) stride /= x.size(-1);
    return rows;
  };
  const std::vector<int64_t> from = in_rows(x_strides), to = in_rows(y_strides);
  copy_encoded(x, y, {shape.first(shape.size() - 1), from, to, offset / x.size(-1), 0});
}

constexpr planned::Status kBadSize{planned::Status::bad_value, 0, 0};

planned::Status launch_reshape(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  std::vector<int64_t> shape = numbers_of(cx.in(1));
  int64_t others = 1;
  for (int64_t d : shape) others *= d == -1 ? 1 : d;
  for (int64_t& d : shape)
    if (d == -1) d = others == 0 ? 0 : x.numel() / others;
  int64_t numel = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) return {planned::Status::bad_value, static_cast<int64_t>(i), shape[i]};
    numel *= shape[i];
  }
  if (numel != x.numel()) return {planned::Status::bad_value, 0, numel};
  const planned::Operand& y = output_of(cx, shape);
  std::vector<int64_t> dense(x.rank);
  int64_t step = 1;
  for (uint32_t d = x.rank; d-- > 0; step *= x.shape[d]) dense[d] = step;
  move(cx, x, y, x.sizes(), strides_of(x), dense);
  return {};
}

planned::Status launch_expand(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  std::vector<int64_t> shape = numbers_of(cx.in(1));
  while (shape.size() < x.rank) shape.insert(shape.begin(), 1);
  for (uint32_t i = 0; i < x.rank; ++i) {
    int64_t& d = shape[shape.size() - x.rank + i];
    if (d != x.shape[i] && d != 1 && x.shape[i] != 1)
      return {planned::Status::bad_value, static_cast<int64_t>(shape.size() - x.rank + i), d};
    if (d == 1) d = x.shape[i];
  }
  const planned::Operand& y = output_of(cx, shape);
  const std::vector<int64_t> own = strides_of(x);
  std::vector<int64_t> strides(shape.size(), 0);
  for (size_t added = shape.size() - own.size(), i = added; i < shape.size(); ++i)
    if (x.shape[i - added] == shape[i]) strides[i] = own[i - added];
  move(cx, x, y, shape, strides, strides_of(y));
  return {};
}

// The part of x that starts and ends name, as sizes, strides and an offset in elements.
struct Part {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
  planned::Status status;
};

Part part_of(const planned::Operand& x, const SliceAttrs& a, const planned::Operand& starts,
             const planned::Operand& ends) {
  Part p{{x.shape, x.shape + x.rank}, strides_of(x), 0, {}};
  const std::vector<int64_t> from = numbers_of(starts), to = numbers_of(ends);
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    if (axis < 0) axis += x.rank;
    const size_t d = static_cast<size_t>(axis);
    if (a.strict && (from[i] < 0 || from[i] > to[i] || to[i] > x.shape[d]))
      p.status = {planned::Status::bad_value, static_cast<int64_t>(i), to[i]};
    const SliceRange r = slice_range(from[i], to[i], a.steps.empty() ? 1 : a.steps[i], x.shape[d]);
    p.shape[d] = r.size;
    if (r.size > 0) p.offset += r.start * p.strides[d];
    p.strides[d] *= r.step;
  }
  return p;
}

planned::Status launch_slice(const planned::StepCx& cx) {
  const planned::Operand& x = cx.in(0);
  const Part p = part_of(x, cx.attrs<SliceAttrs>(), cx.in(1), cx.in(2));
  if (p.status.code != planned::Status::ok) return p.status;
  const planned::Operand& y = output_of(cx, p.shape);
  move(cx, x, y, p.shape, p.strides, strides_of(y), p.offset);
  return {};
}

// x is output 0 already: the plan aliases it, or copies it there first.
planned::Status launch_slice_update(const planned::StepCx& cx) {
  const planned::Operand &update = cx.in(1), &y = cx.out(0);
  const Part p = part_of(y, cx.attrs<SliceAttrs>(), cx.in(2), cx.in(3));
  if (p.status.code != planned::Status::ok) return p.status;
  if (!std::equal(p.shape.begin(), p.shape.end(), update.shape)) return kBadSize;
  if (update.numel() > 0)
    copy({y.dtype.bytes(),
          p.shape,
          {update.strides, update.rank},
          p.strides,
          update.data,
          y.data + p.offset * y.dtype.bytes()},
         *device_of(cx).pool);
  return {};
}

// (Other types are transposed by saying where elements lie.)
planned::Status launch_transpose(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  std::vector<int64_t> strides;
  for (int64_t axis : Transpose::order(cx.attrs<Transpose::Attrs>(), x.rank))
    strides.push_back(strides_of(x)[static_cast<size_t>(axis)]);
  move(cx, x, y, y.sizes(), strides, strides_of(y));
  return {};
}

bool range_accepts(const Graph& g, const Node& n, const void*) {
  return elem_of(type_of_input(g, n, 0).dtype).has_value();
}

planned::Status launch_range(const planned::StepCx& cx) {
  const planned::Operand &start = cx.in(0), &limit = cx.in(1), &delta = cx.in(2);
  const DType t = start.dtype;
  const double step = load_double(t, delta.data), first = load_double(t, start.data);
  if (step == 0) return {planned::Status::bad_value, 0, 0};
  const int64_t n = Range::count(first, load_double(t, limit.data), step);
  if (n >= Range::kTooMany) return {planned::Status::bad_value, 0, n};
  const int64_t shape[] = {n};
  std::byte* y = output_of(cx, shape).data;
  for (int64_t i = 0; i < n; ++i, y += t.bytes()) {
    if (t.is_float())
      store_double(t, y, first + static_cast<double>(i) * step);
    else
      store_int(t, y,
                static_cast<int64_t>(static_cast<uint64_t>(load_int(t, start.data)) +
                                     static_cast<uint64_t>(i) *
                                         static_cast<uint64_t>(load_int(t, delta.data))));
  }
  return {};
}

}  // namespace

std::span<const planned::Row> dynamic_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<Expand>,
       .name = "expand",
       .accepts = moves_accepts,
       .launch = launch_expand,
       .strided_inputs = 1},
      {.op = &op<Range>, .name = "range", .accepts = range_accepts, .launch = launch_range},
      {.op = &op<Reshape>,
       .name = "reshape",
       .accepts = moves_accepts,
       .launch = launch_reshape,
       .strided_inputs = 1},
      {.op = &op<Slice>,
       .name = "slice",
       .accepts = moves_accepts,
       .launch = launch_slice,
       .strided_inputs = 1},
      {.op = &op<SliceUpdate>,
       .name = "slice_update",
       .accepts = plain_accepts,
       .launch = launch_slice_update,
       .strided_inputs = 2},
      {.op = &op<Transpose>,
       .name = "transpose_encoded",
       .accepts = encoded_accepts,
       .launch = launch_transpose},
  };
  return kRows;
}

}  // namespace lamella::cpu
