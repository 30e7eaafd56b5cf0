// A 27th block format, as a file of quant/ would hold it. No kernel knows it: products, look-ups
// and the packing of activations follow from its one struct.
#include "lamella/kernels/cpu/gather.h"
#include "lamella/kernels/cpu/pack.h"
#include "lamella/quant/block.h"
#include "matmul_cases.h"

namespace lamella::cpu {
namespace {

// 64 elements in 48 bytes, groups of 16, d (q - 5) - m.
//   4 f16 d; 4 f16 m; 32 bytes: element 2 j in the low half of byte j, 2 j + 1 in the high half
struct Toy {
  static constexpr quant::Format format{.name = "toy",
                                        .block = 64,
                                        .group = 16,
                                        .has_min = true,
                                        .min_code = -5,
                                        .max_code = 10,
                                        .planes = {{{"blocks", 48}}}};

  static void unpack(const quant::BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    for (int g = 0; g < 4; ++g) {
      scale[g] = quant::load_f16(bytes[0] + 2 * g);
      min[g] = quant::load_f16(bytes[0] + 8 + 2 * g);
    }
    for (int i = 0; i < 64; ++i) {
      codes[i] = static_cast<int8_t>((bytes[0][16 + i / 2] >> i % 2 * 4 & 15) - 5);
    }
  }
};

constexpr quant::Format kToy = quant::row<Toy>();

TEST(NewFormat, TakesOneStruct) {
  ThreadPool pool(2);
  for (const auto [m, n, k] : {std::array{1, 5, 256}, {3, 7, 570}, {70, 50, 65}}) {
    const Matrix w = random_matrix(&kToy, Elem::f32, n, k, 1);
    const Matrix plain = random_matrix(nullptr, Elem::f32, m, k, 2);
    for (Isa isa : usable_isas()) {
      // x as the pass that asks activation_encoding has it packed.
      const quant::Format* q8 = activation_encoding(kToy, Phase::bulk);
      Matrix packed = random_matrix(q8, Elem::f32, m, k, 3);
      pack_rows({.isa = isa,
                 .x = plain.planes()[0],
                 .row_stride = k,
                 .m = m,
                 .k = k,
                 .format = q8,
                 .planes = packed.mutable_planes()},
                pool);
      decode(packed);
      for (Phase phase : kPhases) {
        EXPECT_LE(worst_error(plain, w, multiply(plain, 0, m, w, phase, isa, pool)), kUlps)
            << name(isa);
        EXPECT_LE(worst_error(packed, w, multiply(packed, 0, m, w, phase, isa, pool)), kUlps)
            << name(isa);
      }
      if (!has_bf16_unit(isa)) continue;
      const auto y = multiply(plain, 0, m, {{&w}}, Phase::bulk, isa, pool, true)[0];
      EXPECT_LE(worst_error(rounded(plain), rounded(w), y), kUlps) << name(isa);
    }
    const std::vector<int32_t> ids{4, 0, -1};
    std::vector<float> rows(ids.size() * static_cast<size_t>(k));
    const GatherCall look_up{.table = w.weights(),
                             .n = n,
                             .k = k,
                             .ids = ids.data(),
                             .n_ids = 3,
                             .y = rows.data(),
                             .y_stride = k};
    ASSERT_TRUE(gather_rows(look_up, pool).ok());
    for (int i = 0; i < 3; ++i) {
      const int64_t row = ids[i] < 0 ? n + ids[i] : ids[i];
      EXPECT_EQ(0, std::memcmp(&rows[i * k], &w.values[row * k], static_cast<size_t>(k) * 4));
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
