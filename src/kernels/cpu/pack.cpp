#include "lamella/kernels/cpu/pack.h"

#include "lamella/kernels/cpu/pack_kernels.h"

namespace lamella::cpu {
namespace {

PackKernel kernel_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx2:
      return pack_row_avx2;
    case Isa::avx512:
    case Isa::amx:
      return pack_row_avx512;
#endif
    default:
      return pack_row_scalar;
  }
}

}  // namespace

void pack_rows(const PackCall& call, ThreadPool& pool) {
  const quant::Format& format = *call.format;
  const PackKernel kernel = kernel_of(call.isa);
  const int64_t n_blocks = format.blocks(call.k);
  const int64_t x_bytes = call.row_stride * (call.element == Element::f32 ? 4 : 2);
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
