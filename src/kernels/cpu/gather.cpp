#include "lamella/kernels/cpu/gather.h"

#include <algorithm>
#include <cstring>

#include "lamella/base/numeric.h"

namespace lamella::cpu {
namespace {

template <class T>
void widen(const uint8_t* bytes, int64_t k, float* out) {
  for (int64_t i = 0; i < k; ++i) {
    T value;
    std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof value), sizeof value);
    out[i] = static_cast<float>(value);
  }
}

void copy_row(const GatherCall& call, int64_t row, float* out) {
  const Weights& table = call.table;
  if (table.format) {
    quant::BlockPtr at{};
    for (int p = 0; p < table.format->n_planes; ++p) {
      at[p] = table.planes[p] +
              row * table.format->blocks(call.k) * table.format->planes[p].block_bytes;
    }
    quant::decode_row(*table.format, at, call.k, out);
    return;
  }
  const uint8_t* at = table.planes[0] + row * call.k * elem_bytes(table.element);
  switch (table.element) {
    case Elem::f16:
      return widen<f16>(at, call.k, out);
    case Elem::bf16:
      return widen<bf16>(at, call.k, out);
    default:
      return widen<float>(at, call.k, out);
  }
}

// Negative ids count from the end.
int64_t id_at(const GatherCall& call, int64_t i) {
  const int64_t id = call.id_elem == Elem::i32 ? static_cast<const int32_t*>(call.ids)[i]
                                               : static_cast<const int64_t*>(call.ids)[i];
  return id < 0 ? id + call.n : id;
}

}  // namespace

Status gather_rows(const GatherCall& call, ThreadPool& pool) {
  for (int64_t i = 0; i < call.n_ids; ++i) {
    const int64_t id = id_at(call, i);
    if (id < 0 || id >= call.n) return {.code = Status::Code::index_out_of_range, .index = i};
  }
  constexpr int64_t kTaskElements = 8192;
  const int64_t grain = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, call.k));
  pool.run_ranges(call.n_ids, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      copy_row(call, id_at(call, i), call.y + i * call.y_stride);
    }
  });
  return {};
}

}  // namespace lamella::cpu
