// The matmul kernels of avx512.
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"
#include "lamella/kernels/cpu/unpack_blocks_avx512.h"
#include "lamella/kernels/cpu/unpack_books_avx512.h"
#include "lamella/kernels/cpu/unpack_supers_avx512.h"

namespace lamella::cpu {
namespace {

template <class Format>
MatmulKernel fast_kernel() {
  return kernel_of<Avx512, FastUnpack<Format>>(Format::kOffset);
}

struct Row {
  std::string_view format;
  MatmulKernel (*kernel)();
};
constexpr Row kRows[] = {
    {IQ2_S::kName, fast_kernel<IQ2_S>},     {IQ2_XS::kName, fast_kernel<IQ2_XS>},
    {IQ2_XXS::kName, fast_kernel<IQ2_XXS>}, {IQ3_S::kName, fast_kernel<IQ3_S>},
    {IQ3_XXS::kName, fast_kernel<IQ3_XXS>}, {IQ4_NL::kName, fast_kernel<IQ4_NL>},
    {IQ4_XS::kName, fast_kernel<IQ4_XS>},   {MXFP4::kName, fast_kernel<MXFP4>},
    {NVFP4::kName, fast_kernel<NVFP4>},     {Q1_0::kName, fast_kernel<Q1_0>},
    {Q2_0::kName, fast_kernel<Q2_0>},       {Q2_K::kName, fast_kernel<Q2_K>},
    {Q3_K::kName, fast_kernel<Q3_K>},       {Q4_0::kName, fast_kernel<Q4_0>},
    {Q4_1::kName, fast_kernel<Q4_1>},       {Q4_K::kName, fast_kernel<Q4_K>},
    {Q5_0::kName, fast_kernel<Q5_0>},       {Q5_1::kName, fast_kernel<Q5_1>},
    {Q5_K::kName, fast_kernel<Q5_K>},       {Q6_K::kName, fast_kernel<Q6_K>},
    {Q8_0::kName, fast_kernel<Q8_0>},       {TQ2_0::kName, fast_kernel<TQ2_0>}};

MatmulKernel encoded(const quant::Format& w) {
  for (const Row& row : kRows) {
    if (row.format == w.name) return row.kernel();
  }
  return generic_kernel<Avx512>(w);
}

}  // namespace

constinit const MatmulKernels kAvx512Matmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Avx512>, .bulk = bulk_exact<Avx512>},
    .dense_panel = dense_panel<Avx512>,
    .transpose = Avx512::transpose16};

}  // namespace lamella::cpu
