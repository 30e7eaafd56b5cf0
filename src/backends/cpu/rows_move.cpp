// Moving elements: the dense copy of a view.
#include <algorithm>
#include <cstring>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"

namespace lamella::cpu {
namespace {

// Copies the strided x, row-major, to dense memory: whole rows where the innermost axis is dense.
void copy_dense(const planned::Operand& x, std::byte* to, const std::byte* from, uint32_t axis) {
  const int64_t size = x.dtype.bytes(), n = x.shape[axis], step = x.strides[axis];
  if (axis + 1 == x.rank) {
    if (step == 1) {
      std::memcpy(to, from, static_cast<size_t>(n * size));
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * step * size, static_cast<size_t>(size));
    return;
  }
  int64_t inner = size;
  for (uint32_t d = axis + 1; d < x.rank; ++d) inner *= x.shape[d];
  for (int64_t i = 0; i < n; ++i) copy_dense(x, to + i * inner, from + i * step * size, axis + 1);
}

planned::Status launch_copy(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &y = cx.out(0);
  if (y.numel() == 0) return {};
  if (x.rank == 0 || x.dtype.is_block()) {
    const int64_t k = x.rank == 0 ? 1 : x.size(-1);
    const int64_t bytes = x.dtype.is_block()
                              ? x.numel() / k * x.dtype.info().format->blocks(k) * x.dtype.info().format->block_bytes()
                              : x.dtype.bytes();
    std::memcpy(y.data, x.data, static_cast<size_t>(bytes));
    return {};
  }
  // The outermost axis is shared among threads when there is enough to share.
  const int64_t n = x.shape[0], inner = x.rank == 1 ? 0 : y.numel() / n * x.dtype.bytes();
  if (x.rank == 1 || y.numel() * x.dtype.bytes() < (1 << 16) || n == 1) {
    copy_dense(x, y.data, x.data, 0);
    return {};
  }
  device_of(cx).pool->run_ranges(n, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      copy_dense(x, y.data + i * inner, x.data + i * x.strides[0] * x.dtype.bytes(), 1);
  });
  return {};
}

}  // namespace

std::span<const planned::Row> move_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = nullptr, .name = "copy", .launch = launch_copy, .strided_inputs = ~0u},
  };
  return kRows;
}

}  // namespace lamella::cpu
