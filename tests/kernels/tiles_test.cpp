#include "lamella/kernels/cpu/tiles.h"

#include <functional>

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

// y = op(x...) over dense vectors of one element type.
template <class T>
std::vector<T> apply(TileOp op, Elem elem, std::vector<std::vector<T>> inputs, Isa isa,
                     int threads = 1) {
  TileProgram program;
  std::vector<TileOperand> operands;
  const int64_t shape[] = {static_cast<int64_t>(inputs[0].size())}, strides[] = {1};
  for (auto& x : inputs) {
    program.inputs.push_back({elem, static_cast<uint8_t>(program.inputs.size()), tile_type(elem)});
    operands.push_back({x.data(), strides});
  }
  program.steps = {{.op = op, .type = tile_type(elem), .dst = 9, .a = 0, .b = 1, .c = 2}};
  program.outputs = {{elem, 9, tile_type(elem)}};
  EXPECT_EQ(find_fault(program), "") << info(op).name;
  std::vector<T> y(inputs[0].size());
  operands.push_back({y.data(), strides});
  ThreadPool pool(threads);
  run_tiles(program, shape, operands, pool, isa);
  return y;
}

struct Unary {
  TileOp op;
  double lo, hi;  // beyond, only special values are tried
  double ulps;
  double (*exact)(double);
};
double exact_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double exact_gelu(double x) { return x * (0.5 * std::erfc(-x * M_SQRT1_2)); }
double exact_gelu_tanh(double x) {
  return x * exact_sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
double exact_softplus(double x) { return x > 40 ? x + std::exp(-x) : std::log1p(std::exp(x)); }
double exact_sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }

const Unary kUnary[] = {
    {TileOp::neg, -1e30, 1e30, 0, [](double x) { return -x; }},
    {TileOp::abs, -1e30, 1e30, 0, [](double x) { return std::fabs(x); }},
    {TileOp::sign, -9, 9, 0, exact_sign},
    {TileOp::square, -1e18, 1e18, 0.5, [](double x) { return x * x; }},
    {TileOp::relu, -9, 9, 0, [](double x) { return x < 0 ? 0 : x; }},
    {TileOp::floor, -1e5, 1e5, 0, [](double x) { return std::floor(x); }},
    {TileOp::ceil, -1e5, 1e5, 0, [](double x) { return std::ceil(x); }},
    {TileOp::round, -1e5, 1e5, 0, [](double x) { return std::nearbyint(x); }},
    {TileOp::trunc, -1e5, 1e5, 0, [](double x) { return std::trunc(x); }},
    {TileOp::is_nan, -1, 1, 0, [](double x) { return double(std::isnan(x)); }},
    {TileOp::is_inf, -1, 1, 0, [](double x) { return double(std::isinf(x)); }},
    {TileOp::logical_not, -1, 1, 0, [](double x) { return double(x == 0); }},
    {TileOp::sqrt, 0, 1e30, 0.5, [](double x) { return std::sqrt(x); }},
    {TileOp::rsqrt, 0, 1e30, 1.5, [](double x) { return 1 / std::sqrt(x); }},
    {TileOp::exp, -104, 89, 1.1, [](double x) { return std::exp(x); }},
    {TileOp::exp2, -150, 128, 1.5, [](double x) { return std::exp2(x); }},
    {TileOp::expm1, -20, 89, 2, [](double x) { return std::expm1(x); }},
    {TileOp::expm1, -0.5, 0.5, 2, [](double x) { return std::expm1(x); }},
    {TileOp::log, 0, 1e38, 1.5, [](double x) { return std::log(x); }},
    {TileOp::log, 0.5, 2, 1.5, [](double x) { return std::log(x); }},
    {TileOp::log2, 0, 1e38, 2, [](double x) { return std::log2(x); }},
    {TileOp::log2, 0.5, 2, 2, [](double x) { return std::log2(x); }},
    {TileOp::log10, 0, 1e38, 2.5, [](double x) { return std::log10(x); }},
    {TileOp::log1p, -1, 1e30, 3, [](double x) { return std::log1p(x); }},
    {TileOp::log1p, -0.9, 2, 3, [](double x) { return std::log1p(x); }},
    {TileOp::sin, -1e6, 1e6, 1, [](double x) { return std::sin(x); }},
    {TileOp::cos, -1e6, 1e6, 1, [](double x) { return std::cos(x); }},
    {TileOp::tan, -1e4, 1e4, 1, [](double x) { return std::tan(x); }},
    {TileOp::asin, -1, 1, 1.5, [](double x) { return std::asin(x); }},
    {TileOp::acos, -1, 1, 1.5, [](double x) { return std::acos(x); }},
    {TileOp::atan, -1e4, 1e4, 1.5, [](double x) { return std::atan(x); }},
    {TileOp::asinh, -1e30, 1e30, 2, [](double x) { return std::asinh(x); }},
    {TileOp::acosh, 1, 1e30, 2, [](double x) { return std::acosh(x); }},
    {TileOp::atanh, -1, 1, 2, [](double x) { return std::atanh(x); }},
    {TileOp::lgamma, -30, 1e30, 0.6, [](double x) { return std::lgamma(x); }},
    {TileOp::sinh, -88, 88, 2.5, [](double x) { return std::sinh(x); }},
    {TileOp::cosh, -88, 88, 2.5, [](double x) { return std::cosh(x); }},
    {TileOp::tanh, -10, 10, 2, [](double x) { return std::tanh(x); }},
    {TileOp::erf, -6, 6, 2, [](double x) { return std::erf(x); }},
    {TileOp::sigmoid, -87, 87, 3, exact_sigmoid},
    {TileOp::silu, -87, 87, 4, [](double x) { return x * exact_sigmoid(x); }},
    {TileOp::gelu, -12.9, 20, 4, exact_gelu},
    {TileOp::gelu_tanh, -9.8, 20, 4, exact_gelu_tanh},
    {TileOp::softplus, -103, 200, 3, exact_softplus},
};

// Uniform in value and uniform in exponent, both signs where the range allows.
std::vector<float> values_in(double lo, double hi, int64_t n, Random& random) {
  std::vector<float> x;
  while (static_cast<int64_t>(x.size()) < n) {
    x.push_back(static_cast<float>(random.uniform(lo, hi)));
    const float tiny =
        static_cast<float>(std::exp2(random.uniform(-149, 127)) * (random.below(2) ? 1 : -1));
    if (tiny >= lo && tiny <= hi) x.push_back(tiny);
  }
  x.resize(static_cast<size_t>(n));
  return x;
}

TEST(Tiles, UnaryF32HoldsItsUlps) {
  for_each_isa([&](Isa isa) {
    Random random(1);
    for (const Unary& u : kUnary) {
      auto x = values_in(u.lo, u.hi, 200003, random);
      for (float special : {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 1e-45f, -1e-45f, 1e-38f, 1.0f,
                            -1.0f, 0.5f, -0.5f, 1.5f, 2.5f, 3e38f, -3e38f}) {
        x.push_back(special);
      }
      const auto y = apply<float>(u.op, Elem::f32, {x}, isa);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulp_error(y[i], u.exact(x[i]));
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, u.ulps + 1e-6)
          << info(u.op).name << "(" << x[at] << ") = " << y[at] << ", not " << u.exact(x[at]);
    }
  });
}

TEST(Tiles, TailsOfActivationsAreTiny) {
  Random random(2);
  for_each_isa([&](Isa isa) {
    const auto x = values_in(-200, -9.8, 5000, random);
    for (const auto& [op, exact] :
         {std::pair{TileOp::silu, +[](double v) { return v * exact_sigmoid(v); }},
          {TileOp::gelu, exact_gelu},
          {TileOp::gelu_tanh, exact_gelu_tanh}}) {
      const auto y = apply<float>(op, Elem::f32, {x}, isa);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(y[i], exact(x[i]), 1e-42 + 4 * ulp(exact(x[i]))) << info(op).name << x[i];
      }
    }
  });
}

double exact_mod(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
struct BinaryOf {
  TileOp op;
  T (*exact)(T, T);
};
const BinaryOf<double> kFloatBinary[] = {
    {TileOp::add, [](double a, double b) { return a + b; }},
    {TileOp::sub, [](double a, double b) { return a - b; }},
    {TileOp::mul, [](double a, double b) { return a * b; }},
    {TileOp::div, [](double a, double b) { return a / b; }},
    {TileOp::mod, exact_mod},
    {TileOp::fmod, [](double a, double b) { return std::fmod(a, b); }},
    {TileOp::pow, [](double a, double b) { return std::pow(a, b); }},
    {TileOp::atan2, [](double a, double b) { return std::atan2(a, b); }},
    {TileOp::minimum,
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }},
    {TileOp::maximum,
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }},
    {TileOp::equal, [](double a, double b) { return double(a == b); }},
    {TileOp::not_equal, [](double a, double b) { return double(a != b); }},
    {TileOp::less, [](double a, double b) { return double(a < b); }},
    {TileOp::less_equal, [](double a, double b) { return double(a <= b); }},
    {TileOp::greater, [](double a, double b) { return double(a > b); }},
    {TileOp::greater_equal, [](double a, double b) { return double(a >= b); }},
    {TileOp::logical_and, [](double a, double b) { return double(a != 0 && b != 0); }},
    {TileOp::logical_or, [](double a, double b) { return double(a != 0 || b != 0); }},
    {TileOp::logical_xor, [](double a, double b) { return double((a != 0) != (b != 0)); }},
};

TEST(Tiles, BinaryFloats) {
  Random random(3);
  std::vector<float> a = random.floats(3000, -4, 4), b = random.floats(3000, -4, 4);
  for (float u : {0.0f, -0.0f, 1.0f, -2.0f, kInfinity, -kInfinity, kNan}) {
    for (float v : {0.0f, -0.0f, 3.0f, -1.0f, kInfinity, -kInfinity, kNan}) {
      a.push_back(u);
      b.push_back(v);
    }
  }
  const std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
  for_each_isa([&](Isa isa) {
    for (const auto& op : kFloatBinary) {
      const auto y = apply<float>(op.op, Elem::f32, {a, b}, isa);
      const auto wide = apply<double>(op.op, Elem::f64, {wide_a, wide_b}, isa);
      for (size_t i = 0; i < a.size(); ++i) {
        const double want = op.exact(a[i], b[i]);
        ASSERT_LE(ulp_error(y[i], want), op.op == TileOp::atan2 ? 1.5
                                         : op.op == TileOp::pow ? 1
                                                                : 0.5000001)
            << info(op.op).name << " " << a[i] << " " << b[i] << " gave " << y[i];
        ASSERT_TRUE(wide[i] == want || (std::isnan(wide[i]) && std::isnan(want)))
            << info(op.op).name;
      }
    }
  });
}

TEST(Tiles, UnaryF64IsThatOfTheLibrary) {
  Random random(4);
  for (const Unary& u : kUnary) {
    std::vector<double> x;
    for (int i = 0; i < 600; ++i)
      x.push_back(random.uniform(std::max(u.lo, -20.0), std::min(u.hi, 20.0)));
    x.push_back(NAN);
    const auto y = apply<double>(u.op, Elem::f64, {x}, Isa::scalar);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = u.exact(x[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i]));
      } else {
        EXPECT_NEAR(y[i], want, 1e-14 * std::fabs(want)) << info(u.op).name << " " << x[i];
      }
    }
  }
}

using Wide = __int128;
Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
struct IntBinary {
  TileOp op;
  Wide (*exact)(Wide, Wide);
};
const IntBinary kIntBinary[] = {
    {TileOp::add, [](Wide a, Wide b) { return a + b; }},
    {TileOp::sub, [](Wide a, Wide b) { return a - b; }},
    {TileOp::mul, [](Wide a, Wide b) { return Wide((unsigned __int128)a * (unsigned __int128)b); }},
    {TileOp::div, [](Wide a, Wide b) { return b == 0 ? 0 : a / b; }},
    {TileOp::mod, [](Wide a, Wide b) { return b == 0 ? 0 : a - b * floor_div(a, b); }},
    {TileOp::fmod, [](Wide a, Wide b) { return b == 0 ? 0 : a % b; }},
    {TileOp::minimum, [](Wide a, Wide b) { return a < b ? a : b; }},
    {TileOp::maximum, [](Wide a, Wide b) { return a > b ? a : b; }},
    {TileOp::equal, [](Wide a, Wide b) { return Wide(a == b); }},
    {TileOp::not_equal, [](Wide a, Wide b) { return Wide(a != b); }},
    {TileOp::less, [](Wide a, Wide b) { return Wide(a < b); }},
    {TileOp::less_equal, [](Wide a, Wide b) { return Wide(a <= b); }},
    {TileOp::greater, [](Wide a, Wide b) { return Wide(a > b); }},
    {TileOp::greater_equal, [](Wide a, Wide b) { return Wide(a >= b); }},
    {TileOp::logical_and, [](Wide a, Wide b) { return Wide(a != 0 && b != 0); }},
    {TileOp::logical_or, [](Wide a, Wide b) { return Wide(a != 0 || b != 0); }},
    {TileOp::logical_xor, [](Wide a, Wide b) { return Wide((a != 0) != (b != 0)); }},
    {TileOp::bit_and, [](Wide a, Wide b) { return a & b; }},
    {TileOp::bit_or, [](Wide a, Wide b) { return a | b; }},
    {TileOp::bit_xor, [](Wide a, Wide b) { return a ^ b; }},
    {TileOp::shift_left,
     [](Wide a, Wide b) { return b < 0 || b > 63 ? 0 : Wide((unsigned __int128)a << (int)b); }},
    {TileOp::shift_right,
     [](Wide a, Wide b) { return b < 0 || b > 63 ? (a < 0 ? Wide(-1) : 0) : a >> (int)b; }},
    // Of the unary ones, b is not read.
    {TileOp::neg, [](Wide a, Wide) { return -a; }},
    {TileOp::abs, [](Wide a, Wide) { return a < 0 ? -a : a; }},
    {TileOp::square,
     [](Wide a, Wide) { return Wide((unsigned __int128)a * (unsigned __int128)a); }},
    {TileOp::sign, [](Wide a, Wide) { return Wide((a > 0) - (a < 0)); }},
    {TileOp::relu, [](Wide a, Wide) { return a < 0 ? 0 : a; }},
    {TileOp::bit_not, [](Wide a, Wide) { return ~a; }},
    {TileOp::logical_not, [](Wide a, Wide) { return Wide(a == 0); }},
    {TileOp::copy, [](Wide a, Wide) { return a; }},
};

// Each integer type: all pairs of interesting values, against 128-bit arithmetic.
template <class T>
void check_ints(Elem elem) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),          T(1),
                           T(2),          T(3),
                           T(-1),         T(-2),
                           T(-7),         T(100),
                           T(64),         T(63),
                           T(8),          T(31),
                           Limits::min(), T(Limits::min() + 1),
                           Limits::max(), T(Limits::max() - 1)};
  std::vector<T> a, b;
  for (T x : values) {
    for (T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (const IntBinary& op : kIntBinary) {
    const auto y = apply<T>(op.op, elem, {a, b}, Isa::scalar);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(y[i], static_cast<T>(op.exact(a[i], b[i])))
          << info(op.op).name << " " << +a[i] << " " << +b[i] << " bytes " << sizeof(T);
    }
  }
}
TEST(Tiles, Integers) {
  check_ints<int8_t>(Elem::i8);
  check_ints<int16_t>(Elem::i16);
  check_ints<int32_t>(Elem::i32);
  check_ints<int64_t>(Elem::i64);
  check_ints<uint8_t>(Elem::u8);
  check_ints<uint16_t>(Elem::u16);
  check_ints<uint32_t>(Elem::u32);
  check_ints<uint64_t>(Elem::u64);
  const auto powers =
      apply<int32_t>(TileOp::pow, Elem::i32,
                     {{3, 2, -2, 0, 2, -1, 0, -1}, {4, 31, 3, 0, -1, -3, -2, -2}}, Isa::scalar);
  EXPECT_EQ(powers, (std::vector<int32_t>{81, INT32_MIN, -8, 1, 0, -1, 0, 1}));
}

// y = cast(x), dense, through memory of any two types.
template <class To, class From>
std::vector<To> cast(const std::vector<From>& x, Elem from, Elem to, Isa isa) {
  const TileProgram program{
      .inputs = {{from, 0, tile_type(from)}},
      .outputs = {{to, 1, tile_type(to)}},
      .constants = {},
      .steps = {{.op = TileOp::cast, .type = tile_type(from), .dst = 1, .elem = to}}};
  EXPECT_EQ(find_fault(program), "");
  std::vector<To> y(x.size());
  const int64_t shape[] = {static_cast<int64_t>(x.size())}, strides[] = {1};
  const TileOperand operands[] = {{const_cast<From*>(x.data()), strides}, {y.data(), strides}};
  ThreadPool pool(1);
  run_tiles(program, shape, operands, pool, isa);
  return y;
}

TEST(Tiles, CastsFromFloats) {
  const std::vector<float> x = {0,       -0.0f, 0.5f,      2.9f,       -2.9f, 127.5f,  -128.9f,
                                300,     -300,  65535.5f,  3e9f,       -3e9f, 9.3e18f, -9.3e18f,
                                1.9e19f, kNan,  kInfinity, -kInfinity, 1e-45f};
  const std::vector<double> wide(x.begin(), x.end());
  const auto check = [&]<class T>(Elem elem, T) {
    for (size_t i = 0; i < x.size(); ++i) {
      const double lo = static_cast<double>(std::numeric_limits<T>::min());
      const double hi = static_cast<double>(std::numeric_limits<T>::max());
      const T want = std::isnan(x[i]) ? T(0)
                     : x[i] >= hi     ? std::numeric_limits<T>::max()
                     : x[i] <= lo     ? std::numeric_limits<T>::min()
                                      : static_cast<T>(x[i]);
      EXPECT_EQ((cast<T, float>(x, Elem::f32, elem, Isa::scalar)[i]), want) << x[i];
      EXPECT_EQ((cast<T, double>(wide, Elem::f64, elem, Isa::scalar)[i]), want) << x[i];
    }
  };
  check(Elem::i8, int8_t{});
  check(Elem::i16, int16_t{});
  check(Elem::i32, int32_t{});
  check(Elem::i64, int64_t{});
  check(Elem::u8, uint8_t{});
  check(Elem::u16, uint16_t{});
  check(Elem::u32, uint32_t{});
  check(Elem::u64, uint64_t{});
  const auto truth = cast<uint8_t, float>(x, Elem::f32, Elem::boolean, Isa::scalar);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(truth[i], x[i] != 0) << x[i];
}

TEST(Tiles, CastsRoundOnce) {
  // 1 + 2^-11 + 2^-40 rounds up to f16, though its nearest float lies half-way.
  const std::vector<double> x = {
      1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65520, 65519.999, -1e300, 0x1p-25, 0x1.8p-25};
  for_each_isa([&](Isa isa) {
    const auto half = cast<uint16_t, double>(x, Elem::f64, Elem::f16, isa);
    const auto brain = cast<uint16_t, double>(x, Elem::f64, Elem::bf16, isa);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(half[i], f16::from(x[i]).bits);
      EXPECT_EQ(brain[i], bf16::from(x[i]).bits);
    }
    const std::vector<int64_t> big = {(int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN, 16777217, -5};
    EXPECT_EQ((cast<float, int64_t>(big, Elem::i64, Elem::f32, isa)),
              (std::vector<float>{0x1p53f, 0x1p63f, -0x1p63f, 16777216, -5}));
    const std::vector<uint64_t> huge = {UINT64_MAX, uint64_t{1} << 63};
    EXPECT_EQ((cast<double, uint64_t>(huge, Elem::u64, Elem::f64, isa)),
              (std::vector<double>{0x1p64, 0x1p63}));
    EXPECT_EQ((cast<uint8_t, uint64_t>({300, 256}, Elem::u64, Elem::u8, isa)),
              (std::vector<uint8_t>{44, 0}));
    EXPECT_EQ((cast<int8_t, int32_t>({255, -1, 300, 128}, Elem::i32, Elem::i8, isa)),
              (std::vector<int8_t>{-1, -1, 44, -128}));
  });
}

// y = where(mask, x, 2) * bias + x over [4, 3, 1000] with broadcast and strided operands.
struct BroadcastCase {
  std::vector<int64_t> shape;
  std::vector<uint8_t> mask;   // of the last two dimensions
  std::vector<uint16_t> x;     // f16, dimensions stored last to first
  std::vector<float> bias, y;  // bias along the first dimension
  TileProgram program;

  explicit BroadcastCase(std::vector<int64_t> s) : shape(std::move(s)) {
    Random random(5);
    const int64_t total = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; i < shape[1] * shape[2]; ++i) mask.push_back(random.below(2));
    for (int64_t i = 0; i < total; ++i) x.push_back(f16::from(random.uniform()).bits);
    bias = random.floats(shape[0]);
    program.inputs = {{Elem::boolean, 0, TileType::f32}, {Elem::f16, 1}, {Elem::f32, 2}};
    program.constants = {{.reg = 3, .f = 2}};
    program.steps = {{.op = TileOp::select, .dst = 4, .a = 0, .b = 1, .c = 3},
                     {.op = TileOp::mul, .dst = 4, .a = 4, .b = 2},
                     {.op = TileOp::add, .dst = 5, .a = 4, .b = 1}};
    program.outputs = {{Elem::f32, 5}};
  }
  void run(Isa isa, int threads) {
    y.assign(x.size(), kNan);
    const int64_t s0[] = {0, shape[2], 1}, s1[] = {1, shape[0], shape[0] * shape[1]},
                  s2[] = {1, 0, 0}, s3[] = {shape[1] * shape[2], shape[2], 1};
    const TileOperand operands[] = {
        {mask.data(), s0}, {x.data(), s1}, {bias.data(), s2}, {y.data(), s3}};
    ThreadPool pool(threads);
    run_tiles(program, shape, operands, pool, isa);
  }
  void check() const {
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        for (int64_t k = 0; k < shape[2]; ++k) {
          const float v = static_cast<float>(f16{x[i + shape[0] * (j + shape[1] * k)]});
          const float want = (mask[j * shape[2] + k] ? v : 2.0f) * bias[i] + v;
          ASSERT_FLOAT_EQ(y[(i * shape[1] + j) * shape[2] + k], want) << i << " " << j << " " << k;
        }
      }
    }
  }
};

TEST(Tiles, BroadcastsAndStrides) {
  for_each_isa([&](Isa isa) {
    for (const auto& shape : {std::vector<int64_t>{4, 3, 1000},
                              {1, 1, 1},
                              {7, 5, 3},
                              {300, 7, 1},
                              {2, 0, 9},
                              {1, 40, 513}}) {
      BroadcastCase c(shape);
      c.run(isa, 2);
      c.check();
      const auto y = c.y;
      for (int threads : {1, 5}) {
        c.run(isa, threads);
        EXPECT_TRUE(same_bits(y, c.y));
      }
    }
  });
}

TEST(Tiles, ScalarsAndInPlace) {
  const TileProgram program{.inputs = {{Elem::f32, 0}},
                            .outputs = {{Elem::f32, 1}},
                            .constants = {},
                            .steps = {{.op = TileOp::square, .dst = 1, .a = 0}}};
  ThreadPool pool(2);
  for_each_isa([&](Isa isa) {
    float x = 3;
    const TileOperand one[] = {{&x, {}}, {&x, {}}};
    run_tiles(program, {}, one, pool, isa);
    EXPECT_EQ(x, 9);
    std::vector<float> v(10007, 1.5f);
    const int64_t shape[] = {10007}, strides[] = {1};
    const TileOperand many[] = {{v.data(), strides}, {v.data(), strides}};
    run_tiles(program, shape, many, pool, isa);
    for (float f : v) ASSERT_EQ(f, 2.25f);
  });
}

TEST(Tiles, FindsFaults) {
  const auto fault = [](auto spoil) {
    TileProgram p{.inputs = {{Elem::f32, 0}},
                  .outputs = {{Elem::f32, 1}},
                  .constants = {},
                  .steps = {{.op = TileOp::exp, .dst = 1}}};
    EXPECT_EQ(find_fault(p), "");
    spoil(p);
    return find_fault(p);
  };
  EXPECT_EQ(fault([](TileProgram& p) { p.steps[0].dst = 32; }), "register out of range");
  EXPECT_EQ(fault([](TileProgram& p) { p.inputs[0].elem = Elem::i32; }),
            "an input's elements do not fit its register's type");
  EXPECT_EQ(fault([](TileProgram& p) { p.outputs[0].type = TileType::f64; }),
            "an output's elements do not fit its register's type");
  EXPECT_EQ(fault([](TileProgram& p) { p.steps[0].type = TileType::i64; }),
            "the operation is not defined for its type");
  EXPECT_EQ(fault([](TileProgram& p) { p.inputs.resize(33); }), "too many operands");
}

// Every operation has a function for each type that its row claims.
TEST(Tiles, RowsAreComplete) {
  for (int i = 0; i < kTileOps; ++i) {
    const TileOpInfo& row = info(static_cast<TileOp>(i));
    for (const TileType type : {TileType::f32, TileType::f64, TileType::i64, TileType::u64}) {
      const bool bits_only = row.name.starts_with("bit_") || row.name.starts_with("shift_");
      const bool wants = type >= TileType::i64 ? row.ints : !bits_only;
      const TileProgram p{
          .inputs = {}, .outputs = {}, .constants = {}, .steps = {{.op = row.op, .type = type}}};
      EXPECT_EQ(find_fault(p).empty(), wants) << row.name << " " << static_cast<int>(type);
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
