#include "lamella/kernels/cpu/pack.h"

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/pack_kernels.h"

namespace lamella::cpu {
void pack_rows(const PackCall& call, ThreadPool& pool) {
  const quant::Format& format = *call.format;
  const PackKernel kernel = LAMELLA_BY_ISA(call.isa, kPackRow);
  const int64_t n_blocks = format.blocks(call.k);
  const int64_t x_bytes = call.row_stride * elem_bytes(call.element);
  const auto pack = [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t block = row * n_blocks;
      kernel({.x = static_cast<const uint8_t*>(call.x) + row * x_bytes,
              .element = call.element,
              .k = call.k,
              .block = format.block,
              .codes = call.planes[0] + block * format.planes[0].block_bytes,
              .scales = call.planes[1] + block * format.planes[1].block_bytes,
              .sums = call.planes[2] + block * format.planes[2].block_bytes});
    }
  };
  constexpr int64_t kWorthSharing = 1 << 15;  // elements: about 5 us of work
  if (call.m * call.k < kWorthSharing) {
    pack(0, call.m, 0);
  } else {
    pool.run_ranges(call.m, 1, pack);
  }
}

}  // namespace lamella::cpu
