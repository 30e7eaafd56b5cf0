// The matmul kernels of avx2.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"

namespace lamella::cpu {
namespace {

MatmulKernel encoded(const quant::Format& w) { return generic_kernel<Avx2>(w); }

}  // namespace

constinit const MatmulKernels kAvx2Matmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Avx2>, .bulk = bulk_exact<Avx2>},
    .dense_panel = dense_panel<Avx2>,
    .transpose = Avx2::transpose16};

}  // namespace lamella::cpu
