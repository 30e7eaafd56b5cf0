// The matmul kernels of avx2.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"
#include "lamella/kernels/cpu/unpack_natural.h"

namespace lamella::cpu {

constinit const MatmulKernels avx2::kMatmul = {
    .encoded = natural_kernel<Avx2>,
    .exact = {.wish = {}, .decode = decode_exact<Avx2>, .bulk = bulk_exact<Avx2>},
    .dense_panel = dense_panel<Avx2>,
    .transpose = Avx2::transpose16};

}  // namespace lamella::cpu
