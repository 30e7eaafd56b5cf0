// The matmul kernels of avx512.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

MatmulKernel encoded(const quant::Format& w, const quant::Format&) {
  return generic_kernel<Avx512>(w);
}

}  // namespace

extern const MatmulKernels kAvx512Matmul;
const MatmulKernels kAvx512Matmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Avx512>, .bulk = bulk_exact<Avx512>}};

}  // namespace lamella::cpu
