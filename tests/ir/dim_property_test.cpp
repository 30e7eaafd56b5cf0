// Random sizes, built twice: through the simplifying functions, and as a plain tree that is
// evaluated directly. Under random bindings both have the same value, which lies in the claimed
// range and is a multiple of the claimed divisor.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "lamella/base/error.h"
#include "lamella/ir/type.h"

namespace lamella {
namespace {

using Binding = std::vector<int64_t>;

// A size and what it means. `value` is nullopt where the meaning is undefined or leaves 62 bits.
struct Pair {
  Dim dim;
  std::function<std::optional<int64_t>(const Binding&)> value;
};

std::optional<int64_t> in_bounds(__int128 x) {
  const __int128 limit = __int128{1} << 62;
  return x > -limit && x < limit ? std::optional(static_cast<int64_t>(x)) : std::nullopt;
}

__int128 floor_quotient(__int128 a, __int128 b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    const DimRange ranges[] = {{}, {1, 4096}, {-20, 20}, {2, 9}, {0, 1}};
    const int64_t divisors[] = {1, 64, 1, 1, 1};
    for (size_t i = 0; i < 5; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      symbols_.push_back({table_.symbol(name, ranges[i], divisors[i]),
                          [i](const Binding& x) { return std::optional(x[i]); }});
    }
  }

  Pair make(int depth) {
    if (depth == 0) return below(3) == 0 ? constant() : symbols_[below(symbols_.size())];
    const Pair a = make(static_cast<int>(below(static_cast<size_t>(depth))));
    const Pair b = make(static_cast<int>(below(static_cast<size_t>(depth))));
    switch (below(13)) {
      case 0:
        return combine(a, b, a.dim + b.dim, [](__int128 x, __int128 y) { return x + y; });
      case 1:
        return combine(a, b, a.dim - b.dim, [](__int128 x, __int128 y) { return x - y; });
      case 2:
        return combine(a, b, a.dim * b.dim, [](__int128 x, __int128 y) { return x * y; });
      case 3:
        return divide(a, b, floordiv, floor_quotient);
      case 4:
        return divide(a, b, ceildiv, [](__int128 x, __int128 y) { return -floor_quotient(-x, y); });
      case 5:
        return divide(a, b, dim_mod,
                      [](__int128 x, __int128 y) { return x - y * floor_quotient(x, y); });
      case 6:
        return combine(a, b, dim_min(a.dim, b.dim),
                       [](__int128 x, __int128 y) { return x < y ? x : y; });
      case 7:
        return combine(a, b, dim_max(a.dim, b.dim),
                       [](__int128 x, __int128 y) { return x < y ? y : x; });
      case 8:
        return combine(a, b, dim_less(a.dim, b.dim),
                       [](__int128 x, __int128 y) { return __int128{x < y}; });
      case 9:
        return combine(a, b, dim_equal(a.dim, b.dim),
                       [](__int128 x, __int128 y) { return __int128{x == y}; });
      case 10:
        return broadcast(a, b);
      case 11:
        return select(a, b, make(0));
      default:
        return scale(a);
    }
  }

  // Values of all symbols within their bounds.
  Binding binding() {
    const auto small = static_cast<int64_t>(below(40));
    return {below(2) ? small : static_cast<int64_t>(below(1 << 20)),
            static_cast<int64_t>(64 * (1 + below(64))), static_cast<int64_t>(below(41)) - 20,
            static_cast<int64_t>(2 + below(8)), static_cast<int64_t>(below(2))};
  }
  size_t below(size_t n) { return random_() % n; }
  DimTable& table() { return table_; }

 private:
  Pair constant() {
    static constexpr int64_t kValues[] = {0, 1, -1, 2, 3, 4, 6, 7, 8, 12, 63, 64, 100, -5, 1 << 30};
    const int64_t v = kValues[below(std::size(kValues))];
    return {v, [v](const Binding&) { return std::optional(v); }};
  }
  template <class F>
  static Pair combine(Pair a, Pair b, Dim dim, F f) {
    return {dim, [=](const Binding& x) -> std::optional<int64_t> {
              const auto p = a.value(x), q = b.value(x);
              return p && q ? in_bounds(f(*p, *q)) : std::nullopt;
            }};
  }
  template <class F>
  static Pair divide(Pair a, Pair b, Dim (*make)(Dim, Dim), F f) {
    if (b.dim.is(0)) return a;
    return {make(a.dim, b.dim), [=](const Binding& x) -> std::optional<int64_t> {
              const auto p = a.value(x), q = b.value(x);
              return p && q && *q != 0 ? in_bounds(f(*p, *q)) : std::nullopt;
            }};
  }
  static Pair broadcast(Pair a, Pair b) {
    if (broadcastable(a.dim, b.dim) == Equal::no) return a;
    return {dim_broadcast(a.dim, b.dim), [=](const Binding& x) -> std::optional<int64_t> {
              const auto p = a.value(x), q = b.value(x);
              if (!p || !q || (*p != *q && *p != 1 && *q != 1)) return std::nullopt;
              return *p == 1 ? q : p;
            }};
  }
  static Pair select(Pair a, Pair b, Pair c) {
    return {dim_select(c.dim, a.dim, b.dim), [=](const Binding& x) -> std::optional<int64_t> {
              const auto p = a.value(x), q = b.value(x), r = c.value(x);
              if (!p || !q || !r) return std::nullopt;
              return *r != 0 ? p : q;
            }};
  }
  Pair scale(Pair a) {
    static constexpr double kFactors[] = {0.5, 2.5, 1.0 / 3, 2};
    const double f = kFactors[below(4)];
    const bool up = below(2);
    if (std::abs(a.dim.is_const() ? static_cast<double>(a.dim.value()) : 0) > 1e17) return a;
    return {up ? ceil_mul(a.dim, f) : floor_mul(a.dim, f),
            [=](const Binding& x) -> std::optional<int64_t> {
              const auto p = a.value(x);
              if (!p || std::abs(static_cast<double>(*p)) > 1e17) return std::nullopt;
              const double y = static_cast<double>(*p) * f;
              return static_cast<int64_t>(up ? std::ceil(y) : std::floor(y));
            }};
  }

  std::mt19937_64 random_;
  DimTable table_;
  std::vector<Pair> symbols_;
};

// What a size must be under a binding, checked every way it can be computed.
void expect_value(const Pair& p, const Binding& x, int64_t want) {
  const std::string where = p.dim.text();
  DimBinding binding(x.begin(), x.end());
  std::optional<int64_t> got;
  try {
    got = evaluate(p.dim, binding);
  } catch (const UserError&) {
    return;  // a canonical sum may overflow on its way where the tree did not
  }
  EXPECT_EQ(got, want) << where;
  EXPECT_GE(want, p.dim.range().low) << where;
  EXPECT_LE(want, p.dim.range().high) << where;
  EXPECT_EQ(p.dim.divisor() == 0 ? want : want % p.dim.divisor(), 0) << where;
  DimProgram program;
  program.add(3);
  const size_t slot = program.add(p.dim);
  std::vector<int64_t> values(program.size());
  program.run(x, values);
  EXPECT_EQ(values[slot], want) << where;
}

void check_pair(Generator& make, const Pair& a, const Pair& b) {
  const Equal equal = compare(a.dim, b.dim);
  const Equal match = broadcastable(a.dim, b.dim);
  for (int i = 0; i < 8; ++i) {
    const Binding x = make.binding();
    const auto p = a.value(x), q = b.value(x);
    if (p) expect_value(a, x, *p);
    if (!p || !q) continue;
    const std::string both = a.dim.text() + " and " + b.dim.text();
    EXPECT_TRUE(equal != Equal::yes || *p == *q) << both;
    EXPECT_TRUE(equal != Equal::no || *p != *q) << both;
    EXPECT_TRUE(match != Equal::no || (*p != *q && *p != 1 && *q != 1)) << both;
  }
}

TEST(DimProperty, SimplificationKeepsTheValue) {
  int n_built = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator make(seed);
    try {
      const Pair a = make.make(4), b = make.make(4);
      check_pair(make, a, b);
      EXPECT_EQ(make.table().parse(a.dim.text()), a.dim) << a.dim;
      // Elsewhere, from text alone and the same symbols, the same text comes out.
      Generator other(seed);
      EXPECT_EQ(other.table().parse(a.dim.text()).text(), a.dim.text());
      ++n_built;
    } catch (const UserError& e) {
      const std::string what = e.what();
      EXPECT_TRUE(what.find("overflow") != std::string::npos ||
                  what.find("want at most") != std::string::npos)
          << what;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(n_built, 2500);
}

}  // namespace
}  // namespace lamella
