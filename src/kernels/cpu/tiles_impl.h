// The f32 operations of the elementwise engine for one instruction set. Included by
// tiles_<isa>.cpp only.
#pragma once

#include <math.h>

#include "lamella/base/special.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/tiles.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

const float* floats(const void* p) { return static_cast<const float*>(p); }

template <class Fn>
constexpr TileFn unary(Fn) {
  return [](void* dst, const void* a, const void*, const void*, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) {
      store(static_cast<float*>(dst) + i, Fn{}(load(floats(a) + i)));
    }
  };
}
template <class Fn>
constexpr TileFn binary(Fn) {
  return [](void* dst, const void* a, const void* b, const void*, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) {
      store(static_cast<float*>(dst) + i, Fn{}(load(floats(a) + i), load(floats(b) + i)));
    }
  };
}
template <class Fn>
constexpr TileFn ternary(Fn) {
  return [](void* dst, const void* a, const void* b, const void* c, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) {
      store(static_cast<float*>(dst) + i,
            Fn{}(load(floats(a) + i), load(floats(b) + i), load(floats(c) + i)));
    }
  };
}
template <class Fn>
constexpr TileFn compare(Fn) {
  return binary([](F a, F b) { return select(Fn{}(a, b), set1(1.0f), zero()); });
}
// By the C library, one by one: functions too rare for vectors of their own. <= 1 ulp or so.
template <class Fn>
constexpr TileFn one_by_one(Fn) {
  return [](void* dst, const void* a, const void*, const void*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(dst)[i] = Fn{}(floats(a)[i]);
  };
}
template <class Fn>
constexpr TileFn pair_by_pair(Fn) {
  return [](void* dst, const void* a, const void* b, const void*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(dst)[i] = Fn{}(floats(a)[i], floats(b)[i]);
  };
}

// Vectors of sin or cos; angles beyond their range one by one.
template <class Fn, class One>
constexpr TileFn circular(Fn, One) {
  return [](void* dst, const void* a, const void*, const void*, int64_t n) {
    float* y = static_cast<float*>(dst);
    const float* x = floats(a);
    for (int64_t i = 0; i < n; i += kLanes) {
      const F angle = load(x + i);
      const M beyond = less(set1(kMaxAngle), abs(angle));
      float angles[kLanes];
      store(angles, angle);
      store(y + i, Fn{}(angle));
      if (!any(beyond)) continue;
      for (int j = 0; j < kLanes; ++j) {
        if (__builtin_fabsf(angles[j]) > kMaxAngle) y[i + j] = One{}(angles[j]);
      }
    }
  };
}
inline F sin_of(F x) {
  F s, c;
  sin_cos(x, s, c);
  return s;
}
inline F cos_of(F x) {
  F s, c;
  sin_cos(x, s, c);
  return c;
}

inline M truth(F a) { return ~equal(a, zero()); }
inline F sign_of(F x) {
  const F y = select(less(x, zero()), set1(-1.0f), select(less(zero(), x), set1(1.0f), zero()));
  return select(is_nan(x), x, y);
}
inline float floor_mod(float a, float b) {
  const float r = ::fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

struct Row {
  TileOp op;
  TileFn fn;
};
constexpr Row kRows[] = {
    {TileOp::add, binary([](F a, F b) { return a + b; })},
    {TileOp::sub, binary([](F a, F b) { return a - b; })},
    {TileOp::mul, binary([](F a, F b) { return a * b; })},
    {TileOp::div, binary([](F a, F b) { return a / b; })},
    {TileOp::mod, pair_by_pair([](float a, float b) { return floor_mod(a, b); })},
    {TileOp::fmod, pair_by_pair([](float a, float b) { return ::fmodf(a, b); })},
    {TileOp::pow, pair_by_pair([](float a, float b) { return ::powf(a, b); })},
    {TileOp::minimum, binary([](F a, F b) { return select(is_nan(a), a, min(a, b)); })},
    {TileOp::maximum, binary([](F a, F b) { return select(is_nan(a), a, max(a, b)); })},
    {TileOp::equal, compare([](F a, F b) { return equal(a, b); })},
    {TileOp::not_equal, compare([](F a, F b) { return ~equal(a, b); })},
    {TileOp::less, compare([](F a, F b) { return less(a, b); })},
    {TileOp::less_equal, compare([](F a, F b) { return less_equal(a, b); })},
    {TileOp::greater, compare([](F a, F b) { return less(b, a); })},
    {TileOp::greater_equal, compare([](F a, F b) { return less_equal(b, a); })},
    {TileOp::logical_and, compare([](F a, F b) { return truth(a) & truth(b); })},
    {TileOp::logical_or, compare([](F a, F b) { return truth(a) | truth(b); })},
    {TileOp::logical_xor,
     compare([](F a, F b) { return (truth(a) | truth(b)) & ~(truth(a) & truth(b)); })},
    {TileOp::logical_not, unary([](F a) { return select(truth(a), zero(), set1(1.0f)); })},
    {TileOp::select, ternary([](F c, F a, F b) { return select(truth(c), a, b); })},
    {TileOp::copy, unary([](F a) { return a; })},
    {TileOp::neg, unary([](F a) { return -a; })},
    {TileOp::abs, unary([](F a) { return abs(a); })},
    {TileOp::sign, unary([](F a) { return sign_of(a); })},
    {TileOp::square, unary([](F a) { return a * a; })},
    {TileOp::relu, unary([](F a) { return max(zero(), a); })},
    {TileOp::floor, unary([](F a) { return floor(a); })},
    {TileOp::ceil, unary([](F a) { return ceil(a); })},
    {TileOp::round, unary([](F a) { return round_even(a); })},
    {TileOp::trunc, unary([](F a) { return trunc(a); })},
    {TileOp::is_nan, unary([](F a) { return select(is_nan(a), set1(1.0f), zero()); })},
    {TileOp::is_inf,
     unary([](F a) { return select(equal(abs(a), set1(kInf)), set1(1.0f), zero()); })},
    {TileOp::sqrt, unary([](F a) { return sqrt(a); })},
    {TileOp::rsqrt, unary([](F a) { return set1(1.0f) / sqrt(a); })},
    {TileOp::exp, unary([](F a) { return exp(a); })},
    {TileOp::exp2, unary([](F a) { return exp2(a); })},
    {TileOp::expm1, unary([](F a) { return expm1(a); })},
    {TileOp::log, unary([](F a) { return log(a); })},
    {TileOp::log2, unary([](F a) { return log2(a); })},
    {TileOp::log10, one_by_one([](float a) { return ::log10f(a); })},
    {TileOp::log1p, unary([](F a) { return log1p(a); })},
    {TileOp::sin, circular([](F a) { return sin_of(a); }, [](float a) { return ::sinf(a); })},
    {TileOp::cos, circular([](F a) { return cos_of(a); }, [](float a) { return ::cosf(a); })},
    {TileOp::tan, one_by_one([](float a) { return ::tanf(a); })},
    {TileOp::asin, one_by_one([](float a) { return ::asinf(a); })},
    {TileOp::acos, one_by_one([](float a) { return ::acosf(a); })},
    {TileOp::atan, one_by_one([](float a) { return ::atanf(a); })},
    {TileOp::asinh, one_by_one([](float a) { return ::asinhf(a); })},
    {TileOp::acosh, one_by_one([](float a) { return ::acoshf(a); })},
    {TileOp::atanh, one_by_one([](float a) { return ::atanhf(a); })},
    {TileOp::atan2, pair_by_pair([](float a, float b) { return ::atan2f(a, b); })},
    {TileOp::polygamma, pair_by_pair([](float n, float x) { return float(polygamma_of(n, x)); })},
    {TileOp::sinh, one_by_one([](float a) { return ::sinhf(a); })},
    {TileOp::cosh, one_by_one([](float a) { return ::coshf(a); })},
    {TileOp::tanh, unary([](F a) { return tanh(a); })},
    {TileOp::erf, unary([](F a) { return erf(a); })},
    {TileOp::erfinv, one_by_one([](float a) { return float(inverse_erf(a)); })},
    {TileOp::lgamma, one_by_one([](float a) { return float(log_gamma(a)); })},
    {TileOp::digamma, one_by_one([](float a) { return float(digamma_of(a)); })},
    {TileOp::trigamma, one_by_one([](float a) { return float(trigamma_of(a)); })},
    {TileOp::sigmoid, unary([](F a) { return sigmoid(a); })},
    {TileOp::silu, unary([](F a) { return silu(a); })},
    {TileOp::gelu, unary([](F a) { return gelu(a); })},
    {TileOp::gelu_tanh, unary([](F a) { return gelu_tanh(a); })},
    {TileOp::softplus, unary([](F a) { return softplus(a); })},
};

template <class T>
void widen(const void* from, float* to, int64_t n) {
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(to + i, load_lanes(static_cast<const T*>(from) + i, lanes), lanes);
  });
}
template <class T>
void narrow(const float* from, void* to, int64_t n) {
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(static_cast<T*>(to) + i, load_lanes(from + i, lanes), lanes);
  });
}

constexpr TileTable make_table() {
  TileTable table{};
  for (const Row& row : kRows) table.ops[static_cast<int>(row.op)] = row.fn;
  table.load_f16 = widen<f16>;
  table.load_bf16 = widen<bf16>;
  table.store_f16 = narrow<f16>;
  table.store_bf16 = narrow<bf16>;
  return table;
}

}  // namespace

constinit const TileTable kTileTable = make_table();

}  // namespace lamella::cpu::LAMELLA_ISA
