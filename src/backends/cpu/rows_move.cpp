// Moving elements: the dense copy of a view, concat, slice_update, iota, unpack.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/kernels/cpu/copy.h"
#include "lamella/kernels/cpu/gather.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/quant/unpack.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/relayout.h"

namespace lamella::cpu {
namespace {

int64_t dense_bytes(const planned::Operand& x) {
  const quant::Format* f = x.dtype.info().format;
  if (!f) return x.numel() * x.dtype.bytes();
  const int64_t k = x.size(-1), n_rows = k == 0 ? 0 : x.numel() / k;
  return quant::plane_offset(*f, f->n_planes, n_rows, k);
}

planned::Status launch_copy(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  if (y.numel() == 0) return {};
  if (x.dtype.is_block() || x.rank == 0) {
    std::memcpy(y.data, x.data, static_cast<size_t>(dense_bytes(x)));
    return {};
  }
  // y is dense, in the order of x's axes, whatever sizes it goes by.
  std::vector<int64_t> dense(x.rank);
  int64_t step = 1;
  for (uint32_t d = x.rank; d-- > 0;) {
    dense[d] = step;
    step *= x.shape[d];
  }
  copy({x.dtype.bytes(), x.sizes(), {x.strides, x.rank}, dense, x.data, y.data},
       *device_of(cx).pool);
  return {};
}

bool plain_output(const Graph&, const Node& n, const void*) {
  return elem_of(n.outputs[0].dtype).has_value();
}

planned::Status launch_concat(const planned::StepCx& cx) {
  const planned::Operand& y = cx.out(0);
  int64_t axis = cx.attrs<Concat::Attrs>().axis;
  if (axis < 0) axis += y.rank;
  int64_t at = 0;
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    const planned::Operand& x = cx.in(i);
    if (x.numel() > 0)
      copy({y.dtype.bytes(),
            x.sizes(),
            {x.strides, x.rank},
            {y.strides, y.rank},
            x.data,
            y.data + at * y.strides[axis] * y.dtype.bytes()},
           *device_of(cx).pool);
    at += x.shape[axis];
  }
  return {};
}

bool encoded_output(const Graph&, const Node& n, const void*) {
  return n.outputs[0].dtype.is_block();
}

// Along an axis of rows, which stay whole.
planned::Status launch_concat_encoded(const planned::StepCx& cx) {
  const planned::Operand& y = cx.out(0);
  int64_t axis = cx.attrs<Concat::Attrs>().axis, at = 0;
  if (axis < 0) axis += y.rank;
  const auto rows_of = [](const planned::Operand& x) {
    std::vector<int64_t> rows(x.rank - 1, 1);
    for (size_t d = rows.size(); d-- > 1;) rows[d - 1] = rows[d] * x.shape[d];
    return rows;
  };
  const std::vector<int64_t> to = rows_of(y);
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    const planned::Operand& x = cx.in(i);
    const std::vector<int64_t> from = rows_of(x);
    if (x.numel() > 0)
      copy_encoded(x, y,
                   {x.sizes().first(from.size()), from, to, 0, at * to[static_cast<size_t>(axis)]});
    at += x.shape[axis];
  }
  return {};
}

planned::Status launch_iota(const planned::StepCx& cx) {
  const planned::Operand& y = cx.out(0);
  for (int64_t i = 0; i < y.numel(); ++i) store_int(y.dtype, y.data + i * y.dtype.bytes(), i);
  return {};
}

// Floats of which the other kernels do not know one type: the f8 kinds.
bool cast_accepts(const Graph& g, const Node& n, const void*) {
  const DType from = type_of_input(g, n, 0).dtype, to = n.outputs[0].dtype;
  return from.is_float() && to.is_float() && !(elem_of(from) && elem_of(to));
}

planned::Status launch_cast(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  constexpr int64_t kTask = 4096;
  device_of(cx).pool->run_ranges(x.numel(), kTask, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      store_double(y.dtype, y.data + i * y.dtype.bytes(),
                   load_double(x.dtype, x.data + i * x.dtype.bytes()));
  });
  return {};
}

bool unpack_accepts(const Graph&, const Node& n, const void*) {
  return n.outputs[0].dtype.is_float();
}

// Every row of the encoded tensor, decoded: a gather of all of them in order.
planned::Status launch_unpack(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  const int64_t k = x.size(-1), n_rows = k == 0 ? 0 : x.numel() / k;
  const Weights w = weights_of(x);
  const quant::Format& f = *w.format;
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      quant::BlockPtr row{};
      for (int p = 0; p < f.n_planes; ++p)
        row[static_cast<size_t>(p)] =
            w.planes[static_cast<size_t>(p)] +
            r * f.blocks(k) * f.planes[static_cast<size_t>(p)].block_bytes;
      if (y.dtype == kF32) {
        quant::decode_row(f, row, k, y.as<float>() + r * k);
        continue;
      }
      std::vector<float> values(static_cast<size_t>(k));
      quant::decode_row(f, row, k, values.data());
      std::byte* to = y.data + r * k * y.dtype.bytes();
      for (float v : values) {
        store_double(y.dtype, to, static_cast<double>(v));
        to += y.dtype.bytes();
      }
    }
  });
  return {};
}

}  // namespace

std::span<const planned::Row> move_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = nullptr, .name = "copy", .launch = launch_copy, .strided_inputs = ~0u},
      {.op = &op<Cast>, .name = "cast_f8", .accepts = cast_accepts, .launch = launch_cast},
      {.op = &op<Concat>,
       .name = "concat",
       .accepts = plain_output,
       .launch = launch_concat,
       .strided_inputs = ~0u},
      {.op = &op<Concat>,
       .name = "concat_encoded",
       .accepts = encoded_output,
       .launch = launch_concat_encoded},
      {.op = &op<Iota>, .name = "iota", .accepts = plain_output, .launch = launch_iota},
      {.op = &op<Relayout>,
       .name = "relayout",
       .accepts = plain_output,
       .launch = launch_copy,
       .strided_inputs = 1},
      {.op = &op<Unpack>, .name = "unpack", .accepts = unpack_accepts, .launch = launch_unpack},
  };
  return kRows;
}

}  // namespace lamella::cpu
