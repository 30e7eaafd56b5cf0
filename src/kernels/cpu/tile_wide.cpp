// Operations of the elementwise engine in f64, i64 and u64.
#include <cmath>
#include <type_traits>

#include "lamella/base/special.h"
#include "lamella/kernels/cpu/tile_types.h"

namespace lamella::cpu {
namespace {

// Tables are filled from rows; what has no row stays null.
struct Row {
  TileOp op;
  TileFn fn;
};
struct Table {
  TileFns fns{};
};

template <class T, class Fn>
constexpr TileFn unary(Fn) {
  return [](void* dst, const void* a, const void*, const void*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(dst)[i] = Fn{}(static_cast<const T*>(a)[i]);
  };
}
template <class T, class Fn>
constexpr TileFn binary(Fn) {
  return [](void* dst, const void* a, const void* b, const void*, int64_t n) {
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(dst)[i] = Fn{}(x[i], y[i]);
  };
}
template <class T>
constexpr TileFn select_fn() {
  return [](void* dst, const void* c, const void* a, const void* b, int64_t n) {
    const T *cond = static_cast<const T*>(c), *x = static_cast<const T*>(a),
            *y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(dst)[i] = cond[i] != 0 ? x[i] : y[i];
  };
}

// Integers wrap, so arithmetic is that of uint64_t.
uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
uint64_t bits(uint64_t x) { return x; }

double divide(double a, double b) { return a / b; }
uint64_t divide(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int64_t>(0 - bits(a)) : a / b;
}
double trunc_mod(double a, double b) { return std::fmod(a, b); }
uint64_t trunc_mod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
int64_t trunc_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
template <class T>
T floor_mod(T a, T b) {
  const T r = trunc_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}
int64_t power(int64_t base, int64_t exponent) {
  if (exponent >= 0) return static_cast<int64_t>(power(bits(base), bits(exponent)));
  return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
}
double power(double base, double exponent) { return std::pow(base, exponent); }

template <class T>
T least(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T>
T greatest(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
T sign(T x) {
  if (x != x) return x;
  return x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : T{0};
}
uint64_t shift_left(uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; }
uint64_t shift_right(uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; }
int64_t shift_right(int64_t a, int64_t b) { return a >> (bits(b) < 64 ? b : 63); }

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
double gelu(double x) { return x * 0.5 * std::erfc(-x * 0.70710678118654752440); }
double gelu_tanh(double x) {
  return x * sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}
double softplus(double x) {
  return x != x ? x : (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

// What all three types have.
template <class T>
constexpr void add_shared(Table& table) {
  const Row rows[] = {
      {TileOp::div, binary<T>([](T a, T b) { return divide(a, b); })},
      {TileOp::mod, binary<T>([](T a, T b) { return floor_mod(a, b); })},
      {TileOp::fmod, binary<T>([](T a, T b) { return trunc_mod(a, b); })},
      {TileOp::pow, binary<T>([](T a, T b) { return power(a, b); })},
      {TileOp::minimum, binary<T>([](T a, T b) { return least(a, b); })},
      {TileOp::maximum, binary<T>([](T a, T b) { return greatest(a, b); })},
      {TileOp::equal, binary<T>([](T a, T b) { return T(a == b); })},
      {TileOp::not_equal, binary<T>([](T a, T b) { return T(a != b); })},
      {TileOp::less, binary<T>([](T a, T b) { return T(a < b); })},
      {TileOp::less_equal, binary<T>([](T a, T b) { return T(a <= b); })},
      {TileOp::greater, binary<T>([](T a, T b) { return T(a > b); })},
      {TileOp::greater_equal, binary<T>([](T a, T b) { return T(a >= b); })},
      {TileOp::logical_and, binary<T>([](T a, T b) { return T(a != 0 && b != 0); })},
      {TileOp::logical_or, binary<T>([](T a, T b) { return T(a != 0 || b != 0); })},
      {TileOp::logical_xor, binary<T>([](T a, T b) { return T((a != 0) != (b != 0)); })},
      {TileOp::logical_not, unary<T>([](T a) { return T(a == 0); })},
      {TileOp::select, select_fn<T>()},
      {TileOp::copy, unary<T>([](T a) { return a; })},
      {TileOp::sign, unary<T>([](T a) { return sign(a); })},
      {TileOp::relu, unary<T>([](T a) { return a < 0 ? T{0} : a; })},
  };
  for (const Row& row : rows) table.fns[static_cast<int>(row.op)] = row.fn;
}

template <class T>
constexpr Table int_table() {
  Table table;
  add_shared<T>(table);
  const Row rows[] = {
      {TileOp::add, binary<T>([](T a, T b) { return T(bits(a) + bits(b)); })},
      {TileOp::sub, binary<T>([](T a, T b) { return T(bits(a) - bits(b)); })},
      {TileOp::mul, binary<T>([](T a, T b) { return T(bits(a) * bits(b)); })},
      {TileOp::bit_and, binary<T>([](T a, T b) { return T(a & b); })},
      {TileOp::bit_or, binary<T>([](T a, T b) { return T(a | b); })},
      {TileOp::bit_xor, binary<T>([](T a, T b) { return T(a ^ b); })},
      {TileOp::bit_not, unary<T>([](T a) { return T(~a); })},
      {TileOp::shift_left, binary<T>([](T a, T b) { return T(shift_left(bits(a), bits(b))); })},
      {TileOp::shift_right, binary<T>([](T a, T b) { return shift_right(a, b); })},
      {TileOp::neg, unary<T>([](T a) { return T(0 - bits(a)); })},
      {TileOp::abs, unary<T>([](T a) { return a < 0 ? T(0 - bits(a)) : a; })},
      {TileOp::square, unary<T>([](T a) { return T(bits(a) * bits(a)); })},
  };
  for (const Row& row : rows) table.fns[static_cast<int>(row.op)] = row.fn;
  return table;
}

constexpr Table f64_table() {
  Table table;
  add_shared<double>(table);
  const auto one = [](auto fn) { return unary<double>(fn); };
  const auto two = [](auto fn) { return binary<double>(fn); };
  const Row rows[] = {
      {TileOp::add, two([](double a, double b) { return a + b; })},
      {TileOp::sub, two([](double a, double b) { return a - b; })},
      {TileOp::mul, two([](double a, double b) { return a * b; })},
      {TileOp::neg, one([](double a) { return -a; })},
      {TileOp::abs, one([](double a) { return std::fabs(a); })},
      {TileOp::square, one([](double a) { return a * a; })},
      {TileOp::floor, one([](double a) { return std::floor(a); })},
      {TileOp::ceil, one([](double a) { return std::ceil(a); })},
      {TileOp::round, one([](double a) { return std::rint(a); })},
      {TileOp::trunc, one([](double a) { return std::trunc(a); })},
      {TileOp::is_nan, one([](double a) { return double(a != a); })},
      {TileOp::is_inf, one([](double a) { return double(std::isinf(a)); })},
      {TileOp::sqrt, one([](double a) { return std::sqrt(a); })},
      {TileOp::rsqrt, one([](double a) { return 1 / std::sqrt(a); })},
      {TileOp::exp, one([](double a) { return std::exp(a); })},
      {TileOp::exp2, one([](double a) { return std::exp2(a); })},
      {TileOp::expm1, one([](double a) { return std::expm1(a); })},
      {TileOp::log, one([](double a) { return std::log(a); })},
      {TileOp::log2, one([](double a) { return std::log2(a); })},
      {TileOp::log10, one([](double a) { return std::log10(a); })},
      {TileOp::log1p, one([](double a) { return std::log1p(a); })},
      {TileOp::sin, one([](double a) { return std::sin(a); })},
      {TileOp::cos, one([](double a) { return std::cos(a); })},
      {TileOp::tan, one([](double a) { return std::tan(a); })},
      {TileOp::asin, one([](double a) { return std::asin(a); })},
      {TileOp::acos, one([](double a) { return std::acos(a); })},
      {TileOp::atan, one([](double a) { return std::atan(a); })},
      {TileOp::asinh, one([](double a) { return std::asinh(a); })},
      {TileOp::acosh, one([](double a) { return std::acosh(a); })},
      {TileOp::atanh, one([](double a) { return std::atanh(a); })},
      {TileOp::atan2, two([](double a, double b) { return std::atan2(a, b); })},
      {TileOp::polygamma, two([](double n, double x) { return polygamma_of(n, x); })},
      {TileOp::sinh, one([](double a) { return std::sinh(a); })},
      {TileOp::cosh, one([](double a) { return std::cosh(a); })},
      {TileOp::tanh, one([](double a) { return std::tanh(a); })},
      {TileOp::erf, one([](double a) { return std::erf(a); })},
      {TileOp::erfinv, one([](double a) { return inverse_erf(a); })},
      {TileOp::lgamma, one([](double a) { return log_gamma(a); })},
      {TileOp::digamma, one([](double a) { return digamma_of(a); })},
      {TileOp::trigamma, one([](double a) { return trigamma_of(a); })},
      {TileOp::sigmoid, one([](double a) { return sigmoid(a); })},
      {TileOp::silu, one([](double a) { return a * sigmoid(a); })},
      {TileOp::gelu, one([](double a) { return gelu(a); })},
      {TileOp::gelu_tanh, one([](double a) { return gelu_tanh(a); })},
      {TileOp::softplus, one([](double a) { return softplus(a); })},
  };
  for (const Row& row : rows) table.fns[static_cast<int>(row.op)] = row.fn;
  return table;
}

constinit const Table kF64 = f64_table();
constinit const Table kI64 = int_table<int64_t>();
constinit const Table kU64 = int_table<uint64_t>();

}  // namespace

TileFn tile_fn(TileType type, TileOp op) {
  constexpr const Table* kTables[kTileTypes] = {nullptr, &kF64, &kI64, &kU64};
  const Table* table = kTables[static_cast<int>(type)];
  return table ? table->fns[static_cast<int>(op)] : nullptr;
}

}  // namespace lamella::cpu
