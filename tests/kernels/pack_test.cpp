// Packed activations against Format::encode, bit for bit.
#include "lamella/kernels/cpu/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "lamella/base/numeric.h"

namespace lamella::cpu {
namespace {

// Rows of ordinary, tiny, huge, tied and special values.
std::vector<float> test_values(int64_t m, int64_t k) {
  std::mt19937 rng(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(m * k);
  for (int64_t i = 0; i < m * k; ++i) {
    const int64_t row = i / k;
    x[i] = normal(rng) * std::ldexp(1.0f, row % 5 == 4 ? -110 : row % 5 == 3 ? 100 : 0);
    if (row % 5 == 2) x[i] = std::rint(x[i] * 40) / 2;  // halves
    if (row % 5 == 2 && i % 256 == 0) x[i] = 127;
    if (row % 5 == 1 && i % 300 == 299) x[i] = i % 200 == 199 ? NAN : -INFINITY;
  }
  return x;
}

TEST(Pack, EqualsEncode) {
  ThreadPool pool(2);
  for (const char* name : {"q8_32", "q8_256"}) {
    const quant::Format& format = *quant::find_format(name);
    for (int64_t k : {1, 31, 32, 256, 570, 1024}) {
      const int64_t m = 65;
      const auto values = test_values(m, k);
      for (Elem element : {Elem::f32, Elem::f16, Elem::bf16}) {
        std::vector<uint8_t> x(m * k * 4);
        std::vector<float> exact(m * k);
        for (int64_t i = 0; i < m * k; ++i) {
          const f16 half = f16::from(values[i]);
          const bf16 brain = bf16::from(values[i]);
          exact[i] = element == Elem::f32   ? values[i]
                     : element == Elem::f16 ? static_cast<float>(half)
                                            : static_cast<float>(brain);
          const void* from = element == Elem::f32   ? static_cast<const void*>(&values[i])
                             : element == Elem::f16 ? static_cast<const void*>(&half)
                                                    : &brain;
          const int size = element == Elem::f32 ? 4 : 2;
          std::memcpy(x.data() + i * size, from, size);
        }
        const int64_t bytes = quant::plane_offset(format, 3, m, k);
        std::vector<uint8_t> want(bytes, 0xaa);
        for (int64_t row = 0; row < m; ++row) {
          quant::MutableBlockPtr at{};
          for (int p = 0; p < 3; ++p) {
            at[p] = want.data() + quant::plane_offset(format, p, m, k) +
                    row * format.blocks(k) * format.planes[p].block_bytes;
          }
          quant::encode_row(format, exact.data() + row * k, k, at);
        }
        for (Isa isa : usable_isas()) {
          std::vector<uint8_t> got(bytes, 0xaa);
          PackCall call{.isa = isa,
                        .element = element,
                        .x = x.data(),
                        .row_stride = k,
                        .m = m,
                        .k = k,
                        .format = &format};
          for (int p = 0; p < 3; ++p) {
            call.planes[p] = got.data() + quant::plane_offset(format, p, m, k);
          }
          pack_rows(call, pool);
          ASSERT_EQ(got, want) << name << " " << cpu::name(isa) << " k " << k << " element "
                               << int(element);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
