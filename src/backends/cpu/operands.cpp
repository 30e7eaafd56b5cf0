#include "lamella/backends/cpu/operands.h"

#include <cstring>
#include <vector>

#include "lamella/ir/tensor.h"

namespace lamella::cpu {
namespace {

struct ElemRow {
  DType dtype;
  Elem elem;
};
constexpr ElemRow kElemRows[] = {
    {kBool, Elem::boolean}, {kI8, Elem::i8},   {kI16, Elem::i16},   {kI32, Elem::i32},
    {kI64, Elem::i64},      {kU8, Elem::u8},   {kU16, Elem::u16},   {kU32, Elem::u32},
    {kU64, Elem::u64},      {kF16, Elem::f16}, {kBF16, Elem::bf16}, {kF32, Elem::f32},
    {kF64, Elem::f64},
};

}  // namespace

std::optional<Elem> elem_of(DType dtype) {
  for (const ElemRow& row : kElemRows)
    if (row.dtype == dtype) return row.elem;
  return std::nullopt;
}

planned::Status status_of(const Status& status, const planned::Operand* ids) {
  if (status.ok()) return {};
  if (status.code == Status::Code::no_memory) return {planned::Status::no_memory, 0, 0};
  planned::Status out{planned::Status::index_out_of_range, status.index, 0};
  if (ids && status.index >= 0 && status.index < ids->numel())
    out.value = load_int(ids->dtype, ids->data + status.index * ids->dtype.bytes());
  return out;
}

quant::BlockPtr planes_of(const planned::Operand& x) {
  const quant::Format& f = *x.dtype.info().format;
  const int64_t k = x.size(-1), n_rows = k == 0 ? 0 : x.numel() / k;
  quant::BlockPtr planes{};
  if (!x.data) return planes;  // a row asked for its scratch memory: there are only sizes yet
  for (int p = 0; p < f.n_planes; ++p)
    planes[static_cast<size_t>(p)] = x.as<const uint8_t>() + quant::plane_offset(f, p, n_rows, k);
  return planes;
}

bool is_weight_type(DType t) { return t.is_block() || t == kF32 || t == kF16 || t == kBF16; }

void copy_encoded(const planned::Operand& x, const planned::Operand& y, const EncodedRows& rows) {
  const quant::Format& f = *x.dtype.info().format;
  const quant::BlockPtr from = planes_of(x), to = planes_of(y);
  const int64_t n_blocks = f.blocks(x.size(-1));
  std::vector<int64_t> at(rows.shape.size(), 0);
  int64_t n = 1;
  for (int64_t size : rows.shape) n *= size;
  for (int64_t r = 0; r < n; ++r) {
    int64_t x_row = rows.x_at, y_row = rows.y_at;
    for (size_t d = 0; d < at.size(); ++d) {
      x_row += at[d] * rows.x_rows[d];
      y_row += at[d] * rows.y_rows[d];
    }
    for (int p = 0; p < f.n_planes; ++p) {
      const size_t plane = static_cast<size_t>(p);
      const int64_t bytes = n_blocks * f.planes[plane].block_bytes;
      std::memcpy(const_cast<uint8_t*>(to[plane]) + y_row * bytes, from[plane] + x_row * bytes,
                  static_cast<size_t>(bytes));
    }
    for (size_t d = at.size(); d-- > 0 && ++at[d] == rows.shape[d];) at[d] = 0;
  }
}

Weights weights_of(const planned::Operand& w) {
  Weights out;
  if (w.dtype.is_block()) {
    out.format = w.dtype.info().format;
    out.planes = planes_of(w);
    return out;
  }
  out.element = *elem_of(w.dtype);
  out.planes[0] = w.as<const uint8_t>();
  return out;
}

void broadcast_strides(const planned::Operand& x, std::span<const int64_t> shape,
                       int64_t* strides) {
  const size_t added = shape.size() - x.rank;
  for (size_t i = 0; i < shape.size(); ++i)
    strides[i] = i < added || (x.shape[i - added] == 1 && shape[i] != 1) ? 0 : x.strides[i - added];
}

}  // namespace lamella::cpu
