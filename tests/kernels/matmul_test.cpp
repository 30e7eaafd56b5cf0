// Matrix products against f64 sums over the decoded operands, and the same bits for any number of
// rows, columns and threads.
#include "lamella/kernels/cpu/matmul.h"

#include "matmul_cases.h"

namespace lamella::cpu {
namespace {

using quant::Format;

struct Encodings {
  const Format *w, *x;
  Elem w_element = Elem::f32, x_element = Elem::f32;
  std::string name() const {
    const auto of = [](const Format* f, Elem e) {
      return f ? std::string(f->name) : e == Elem::f32 ? "f32" : e == Elem::f16 ? "f16" : "bf16";
    };
    return of(x, x_element) + " * " + of(w, w_element);
  }
};

std::vector<Encodings> all_encodings() {
  std::vector<Encodings> list;
  for (const Format& w : quant::formats()) {
    // Of formats that differ in the type of their scales only, one.
    const std::string_view scales = w.name.substr(w.name.find_last_of('_') + 1);
    if (w.n_planes > 1 && (scales == "bf16" || scales == "f32")) continue;
    for (const char* x : {"q8_32", "q8_256"}) list.push_back({&w, quant::find_format(x)});
    list.push_back({&w, nullptr});
  }
  for (Elem w : {Elem::f32, Elem::f16, Elem::bf16}) {
    for (Elem x : {Elem::f32, Elem::f16, Elem::bf16}) {
      list.push_back({nullptr, nullptr, w, x});
    }
    list.push_back({nullptr, quant::find_format("q8_32"), w});
  }
  return list;
}

TEST(Matmul, AgreesWithTheSumOfProducts) {
  ThreadPool pool(2);
  for (const Encodings& e : all_encodings()) {
    for (const auto [m, n, k] : {std::array{1, 5, 256},
                                 {3, 7, 570},
                                 {7, 50, 64},
                                 {65, 49, 31},
                                 {64, 7, 289},
                                 {257, 13, 300}}) {
      const Matrix x = random_matrix(e.x, e.x_element, m, k, 1);
      const Matrix w = random_matrix(e.w, e.w_element, n, k, 2);
      for (Isa isa : usable_isas()) {
        for (Phase phase : kPhases) {
          const auto y = multiply(x, 0, m, w, phase, isa, pool);
          EXPECT_LE(worst_error(x, w, y), kUlps) << e.name() << " " << name(isa) << " phase "
                                                 << int(phase) << " " << m << "x" << n << "x" << k;
        }
      }
    }
  }
}

TEST(Matmul, RowsDoNotDependOnTheirNeighboursNorOnThreads) {
  ThreadPool one(1), two(2), five(5);
  for (const Encodings& e : all_encodings()) {
    const int64_t m = 67, n = 53, k = 555;
    const Matrix x = random_matrix(e.x, e.x_element, m, k, 3);
    const Matrix w = random_matrix(e.w, e.w_element, n, k, 4);
    for (Isa isa : usable_isas()) {
      for (Phase phase : kPhases) {
        const auto all = multiply(x, 0, m, w, phase, isa, one);
        for (const int64_t rows : {1, 2, 5, 65}) {
          for (const int64_t first : {int64_t{1}, m - rows}) {
            ThreadPool& pool = rows % 3 == 0 ? one : rows % 3 == 1 ? two : five;
            const auto some = multiply(x, first, rows, w, phase, isa, pool);
            ASSERT_EQ(0, std::memcmp(some.data(), all.data() + first * n, some.size() * 4))
                << e.name() << " " << name(isa) << " phase " << int(phase) << " rows " << rows;
          }
        }
        // The last columns alone.
        Matrix tail = w;
        tail.rows = 3;
        if (!w.format || w.format->n_planes == 1) {
          const int64_t row_bytes = (static_cast<int64_t>(w.bytes.size()) - 1) / n;
          const int64_t used = w.format || w.element == Elem::f32 ? row_bytes : k * 2;
          tail.bytes.erase(tail.bytes.begin() + 1, tail.bytes.begin() + 1 + (n - 3) * used);
          const auto last = multiply(x, 0, m, tail, phase, isa, five);
          for (int64_t i = 0; i < m; ++i) {
            ASSERT_EQ(0, std::memcmp(&last[i * 3], &all[i * n + n - 3], 12)) << e.name();
          }
        }
      }
    }
  }
}

TEST(Matmul, JobsShareOnePreparationAndFinishTheirRows) {
  ThreadPool pool(2);
  const int64_t m = 70, k = 512, n = 61;
  const auto* q8 = quant::find_format("q8_256");
  const Matrix x = random_matrix(q8, Elem::f32, m, k, 5);
  const Matrix a = random_matrix(quant::find_format("q4_k"), Elem::f32, n, k, 6);
  const Matrix b = random_matrix(quant::find_format("q6_k"), Elem::f32, 9, k, 7);
  const Matrix c = random_matrix(quant::find_format("q4_0"), Elem::f32, n, k, 8);
  const Matrix bias = random_matrix(nullptr, Elem::f32, 1, n, 9);
  const Matrix residual = random_matrix(nullptr, Elem::f32, m, n, 10);
  const Weights gated = c.weights();
  for (Isa isa : usable_isas()) {
    for (Phase phase : kPhases) {
      const auto plain = multiply(x, 0, m, {{&a}, {&b}, {&c}}, phase, isa, pool);
      EXPECT_EQ(plain[1], multiply(x, 0, m, b, phase, isa, pool));
      const auto many = multiply(x, 0, m, std::vector<Job>(19, Job{&b}), phase, isa, pool);
      for (const auto& y : many) ASSERT_EQ(y, plain[1]);
      for (Activation activation :
           {Activation::none, Activation::silu, Activation::gelu_erf, Activation::gelu_tanh}) {
        const MatmulJob more{.w = {},
                             .bias = bias.values.data(),
                             .activation = activation,
                             .gated = &gated,
                             .gated_bias = bias.values.data(),
                             .residual = residual.values.data(),
                             .residual_stride = n};
        const auto y = multiply(x, 0, m, {{&b}, {&a, more}}, phase, isa, pool);
        EXPECT_EQ(y[0], plain[1]);
        for (int64_t i = 0; i < m * n; ++i) {
          const double z = plain[0][i] + bias.values[i % n];
          const double u = std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z);
          const double act = activation == Activation::none       ? z
                             : activation == Activation::silu     ? z / (1 + std::exp(-z))
                             : activation == Activation::gelu_erf ? z * std::erfc(-z / M_SQRT2) / 2
                                                                  : z * (1 + std::tanh(u)) / 2;
          const double up = plain[2][i] + bias.values[i % n];
          const double want = act * up + residual.values[i];
          ASSERT_NEAR(y[1][i], want, 1e-6 * (std::fabs(z * up) + std::fabs(want)))
              << int(activation) << " z " << z;
        }
      }
    }
  }
}

TEST(Matmul, RoundsToBf16WhereThereIsAUnit) {
  ThreadPool one(1), two(2);
  std::vector<Encodings> encodings;
  for (const Format& w : quant::formats()) encodings.push_back({&w, nullptr});
  for (Elem w : {Elem::f32, Elem::f16, Elem::bf16}) encodings.push_back({nullptr, nullptr, w});
  for (Isa isa : usable_isas()) {
    if (!has_bf16_unit(isa)) continue;
    for (const Encodings& e : encodings) {
      for (const auto [m, n, k] :
           {std::array{1, 5, 256}, {3, 7, 570}, {40, 50, 64}, {65, 49, 31}, {257, 20, 300}}) {
        const Matrix x = random_matrix(nullptr, Elem::f32, m, k, 1);
        const Matrix w = random_matrix(e.w, e.w_element, n, k, 2);
        const auto y = multiply(x, 0, m, {{&w}}, Phase::bulk, isa, two, true)[0];
        EXPECT_LE(worst_error(rounded(x), rounded(w), y), kUlps)
            << e.name() << " " << name(isa) << " " << m << "x" << n << "x" << k;
        const auto last = multiply(x, m - 1, 1, {{&w}}, Phase::bulk, isa, one, true)[0];
        EXPECT_EQ(0, std::memcmp(last.data(), y.data() + (m - 1) * n, last.size() * 4))
            << e.name() << " " << name(isa) << ": the last row alone";
      }
    }
  }
}

// Decode's unit for weights of bf16: any number of rows beside a row, and any rows of weights.
TEST(Matmul, DecodesBf16WithTheSameBitsForAnyNumberOfRows) {
  ThreadPool one(1), two(2);
  for (Isa isa : usable_isas()) {
    if (!has_bf16_unit(isa)) continue;
    for (const auto [n, k] : {std::array{5, 31}, {33, 64}, {67, 300}, {160, 2600}}) {
      const int64_t m = 45;
      const Matrix x = random_matrix(nullptr, Elem::f32, m, k, 1);
      const Matrix w = random_matrix(nullptr, Elem::bf16, n, k, 2);
      const auto y = multiply(x, 0, m, {{&w}}, Phase::decode, isa, two, true)[0];
      EXPECT_LE(worst_error(rounded(x), rounded(w), y), std::max(kUlps, std::sqrt(double(k))))
          << name(isa) << " " << n << "x" << k;
      for (const int64_t rows : {1, 2, 3, 4, 7, 8, 16, 17, 32}) {
        for (const int64_t first : {int64_t{0}, m - rows}) {
          const auto some = multiply(x, first, rows, {{&w}}, Phase::decode, isa, one, true)[0];
          EXPECT_EQ(0, std::memcmp(some.data(), y.data() + first * n, some.size() * 4))
              << name(isa) << " " << n << "x" << k << ": " << rows << " rows from " << first;
        }
      }
      Matrix tail = w;  // the last rows of weights alone
      tail.rows = 3;
      tail.bytes.erase(tail.bytes.begin() + 1, tail.bytes.begin() + 1 + (n - 3) * k * 2);
      const auto last = multiply(x, 0, m, {{&tail}}, Phase::decode, isa, one, true)[0];
      for (int64_t i = 0; i < m; ++i) {
        ASSERT_EQ(0, std::memcmp(&last[i * 3], &y[i * n + n - 3], 12)) << name(isa) << " row " << i;
      }
    }
  }
}

// Those that multiply codes as avx512 does, by its vectors or by tiles of bytes.
TEST(Matmul, CodesGiveTheBitsOfAvx512) {
  ThreadPool pool(2);
  for (Isa isa : usable_isas()) {
    if (isa != Isa::amx && isa != Isa::avx512_bf16) continue;
    for (const char* format : {"q1_0", "int8_b128_f32", "int8_b256_f32", "tq2_0"}) {
      for (const auto [m, n, k] :
           {std::array{1, 5, 256}, {67, 101, 896}, {257, 49, 2560}, {257, 770, 4352}}) {
        const Matrix x = random_matrix(quant::find_format("q8_256"), Elem::f32, m, k, 1);
        const Matrix w = random_matrix(quant::find_format(format), Elem::f32, n, k, 2);
        EXPECT_EQ(multiply(x, 0, m, w, Phase::bulk, isa, pool),
                  multiply(x, 0, m, w, Phase::bulk, Isa::avx512, pool))
            << format << " " << name(isa) << " " << m << "x" << n << "x" << k;
      }
    }
  }
}

// More rows, and longer ones, than fit a cache.
TEST(Matmul, LongRowsKeepTheirBits) {
  ThreadPool one(1), two(2);
  const int64_t m = 257, n = 401, k = 2600;
  for (const auto& [format, x_format] :
       {std::pair{"q4_k", "q8_256"}, {"q4_1", "q8_32"}, {"q6_k", ""}, {"", ""}}) {
    const Matrix w = random_matrix(quant::find_format(format), Elem::f32, n, k, 1);
    const Matrix x = random_matrix(quant::find_format(x_format), Elem::f32, m, k, 2);
    for (Isa isa : usable_isas()) {
      for (bool bf16 : {false, true}) {
        if (bf16 && !(has_bf16_unit(isa) && !x.format)) continue;
        const auto y = multiply(x, 0, m, {{&w}}, Phase::bulk, isa, one, bf16)[0];
        // A tile's sums run through the whole row: their roundings add up like a random walk.
        const double bound = bf16 ? std::sqrt(double(k)) : kUlps;
        EXPECT_LE(bf16 ? worst_error(rounded(x), rounded(w), y) : worst_error(x, w, y), bound)
            << format << " " << name(isa) << " " << bf16;
        for (const int64_t row : {int64_t{0}, m - 1}) {
          const auto alone = multiply(x, row, 1, {{&w}}, Phase::bulk, isa, two, bf16)[0];
          EXPECT_EQ(0, std::memcmp(alone.data(), y.data() + row * n, alone.size() * 4))
              << format << " " << name(isa) << " " << bf16 << " row " << row;
        }
      }
    }
  }
}

TEST(Matmul, TakesEmptyShapes) {
  ThreadPool pool(2);
  for (Isa isa : usable_isas()) {
    for (Phase phase : kPhases) {
      for (const char* format : {"q4_1", "q4_k", ""}) {
        const Format* w_format = quant::find_format(format);
        const Format* x_format = w_format ? activation_encoding(*w_format, phase) : nullptr;
        const Matrix x = random_matrix(x_format, Elem::f32, 3, 0, 1);
        const Matrix w = random_matrix(w_format, Elem::f32, 4, 0, 2);
        EXPECT_EQ(multiply(x, 0, 3, w, phase, isa, pool), std::vector<float>(12, 0));
        EXPECT_EQ(multiply(x, 0, 0, w, phase, isa, pool).size(), 0u);
        const Matrix none = random_matrix(w_format, Elem::f32, 0, 0, 2);
        EXPECT_EQ(multiply(x, 0, 3, none, phase, isa, pool).size(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
