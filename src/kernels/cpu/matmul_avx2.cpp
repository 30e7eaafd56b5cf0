// The matmul kernels of avx2.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"
#include "lamella/kernels/cpu/unpack_avx2.h"

namespace lamella::cpu {
namespace {

template <class Format>
MatmulKernel fast_kernel() {
  return kernel_of<Avx2, FastUnpack<Format>>(Format::kOffset);
}

struct Row {
  std::string_view format;
  MatmulKernel (*kernel)();
};
constexpr Row kRows[] = {{Q4_0::kName, fast_kernel<Q4_0>},
                         {Q4_1::kName, fast_kernel<Q4_1>},
                         {Q4_K::kName, fast_kernel<Q4_K>},
                         {Q6_K::kName, fast_kernel<Q6_K>},
                         {Q8_0::kName, fast_kernel<Q8_0>}};

MatmulKernel encoded(const quant::Format& w) {
  for (const Row& row : kRows) {
    if (row.format == w.name) return row.kernel();
  }
  return generic_kernel<Avx2>(w);
}

}  // namespace

constinit const MatmulKernels kAvx2Matmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Avx2>, .bulk = bulk_exact<Avx2>},
    .dense_panel = dense_panel<Avx2>,
    .transpose = Avx2::transpose16};

}  // namespace lamella::cpu
