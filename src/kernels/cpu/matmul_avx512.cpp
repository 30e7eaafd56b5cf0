// The matmul kernels of avx512.
#include "lamella/kernels/cpu/decode_units_avx512.h"
#include "lamella/kernels/cpu/gemm_exact_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"
#include "lamella/kernels/cpu/unpack_blocks_avx512.h"
#include "lamella/kernels/cpu/unpack_books_avx512.h"
#include "lamella/kernels/cpu/unpack_int8_avx512.h"
#include "lamella/kernels/cpu/unpack_supers_avx512.h"

namespace lamella::cpu {
namespace {

template <class Format>
MatmulKernel fast_kernel() {
  return unit_kernel<FastUnpack<Format>>(Format::kOffset);
}

struct Row {
  std::string_view format;
  MatmulKernel (*kernel)();
};
template <class Format>
constexpr Row row{Format::kName, fast_kernel<Format>};
template <int kGroup>
constexpr Row int8_row{Int8Unpack<kGroup>::kName,
                       [] { return unit_kernel<Int8Unpack<kGroup>>(128); }};

constexpr Row kRows[] = {row<IQ1_M>,   row<IQ1_S>,   row<IQ2_S>,   row<IQ2_XS>,  row<IQ2_XXS>,
                         row<IQ3_S>,   row<IQ3_XXS>, row<IQ4_NL>,  row<IQ4_XS>,  row<MXFP4>,
                         row<NVFP4>,   row<Q1_0>,    row<Q2_0>,    row<Q2_K>,    row<Q3_K>,
                         row<Q4_0>,    row<Q4_1>,    row<Q4_K>,    row<Q5_0>,    row<Q5_1>,
                         row<Q5_K>,    row<Q6_K>,    row<Q8_0>,    row<Q8_K>,    row<TQ1_0>,
                         row<TQ2_0>,   int8_row<16>, int8_row<32>, int8_row<64>, int8_row<128>,
                         int8_row<256>};

MatmulKernel encoded(const quant::Format& w) {
  for (const Row& row : kRows) {
    if (row.format == w.name) return row.kernel();
  }
  return generic_kernel<Avx512>(w);
}

}  // namespace

constinit const MatmulKernels avx512::kMatmul = {
    .encoded = encoded,
    .exact = {.wish = {}, .decode = decode_exact<Avx512>, .bulk = bulk_exact<Avx512>},
    .dense_panel = dense_panel<Avx512>,
    .transpose = Avx512::transpose16};

}  // namespace lamella::cpu
