// The matmul kernels of scalar.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_scalar.h"

namespace lamella::cpu {
namespace {

MatmulKernel encoded(const quant::Format& w) { return generic_kernel<Scalar>(w); }

}  // namespace

constinit const MatmulKernels scalar::kMatmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Scalar>, .bulk = bulk_exact<Scalar>},
    .dense_panel = dense_panel<Scalar>,
    .transpose = Scalar::transpose16};

}  // namespace lamella::cpu
