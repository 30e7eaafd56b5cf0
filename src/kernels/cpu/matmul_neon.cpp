// The matmul kernels of neon.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_neon.h"
#include "lamella/kernels/cpu/unpack_natural.h"

namespace lamella::cpu {

constinit const MatmulKernels neon::kMatmul = {
    .encoded = natural_kernel<Neon>,
    .exact = {.wish = {}, .decode = decode_exact<Neon>, .bulk = bulk_exact<Neon>},
    .dense_panel = dense_panel<Neon>,
    .transpose = Neon::transpose16};

}  // namespace lamella::cpu
