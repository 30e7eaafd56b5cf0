// Canonical sums of products over atoms, with interval and divisor facts that decide comparisons.
#include "lamella/ir/dim.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lamella/base/error.h"

namespace lamella {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  CHECK_USER(!__builtin_add_overflow(a, b, &r), "size: ", a, " + ", b, " overflows 64 bits");
  return r;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  CHECK_USER(!__builtin_mul_overflow(a, b, &r), "size: ", a, " * ", b, " overflows 64 bits");
  return r;
}

// Bounds saturate: kMin and kMax stand for "no bound".
int64_t saturating_add(int64_t a, int64_t b) {
  if (a == kMin || b == kMin) return kMin;
  if (a == kMax || b == kMax) return kMax;
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? kMin : kMax;
  return r;
}
int64_t saturating_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool unbounded = a == kMin || a == kMax || b == kMin || b == kMax;
  int64_t r;
  if (unbounded || __builtin_mul_overflow(a, b, &r)) return (a < 0) != (b < 0) ? kMin : kMax;
  return r;
}

DimRange range_product(DimRange a, DimRange b) {
  const int64_t p[] = {saturating_mul(a.low, b.low), saturating_mul(a.low, b.high),
                       saturating_mul(a.high, b.low), saturating_mul(a.high, b.high)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t ceil_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q + ((a % b != 0) && ((a < 0) == (b < 0)));
}

// The value of one non-sum expression on concrete arguments.
int64_t apply(DimKind kind, const int64_t* a, double factor) {
  switch (kind) {
    case DimKind::floordiv:
    case DimKind::ceildiv:
    case DimKind::mod: {
      CHECK_USER(a[1] != 0, "size: division by zero; got ", a[0], " over 0");
      CHECK_USER(!(a[0] == kMin && a[1] == -1), "size: division overflows 64 bits");
      if (kind == DimKind::floordiv) return floor_div(a[0], a[1]);
      if (kind == DimKind::ceildiv) return ceil_div(a[0], a[1]);
      return a[0] - a[1] * floor_div(a[0], a[1]);
    }
    case DimKind::min: return std::min(a[0], a[1]);
    case DimKind::max: return std::max(a[0], a[1]);
    case DimKind::broadcast:
      CHECK_USER(a[0] == a[1] || a[0] == 1 || a[1] == 1, "size: ", a[0], " and ", a[1],
                 " do not broadcast; want equal sizes or one of them 1");
      return a[0] == 1 ? a[1] : a[0];
    case DimKind::less: return a[0] < a[1];
    case DimKind::equal: return a[0] == a[1];
    case DimKind::select: return a[0] != 0 ? a[1] : a[2];
    case DimKind::floor_mul:
    case DimKind::ceil_mul: {
      const double x = static_cast<double>(a[0]) * factor;
      const double r = kind == DimKind::floor_mul ? std::floor(x) : std::ceil(x);
      CHECK_USER(r >= -9.2e18 && r <= 9.2e18, "size: ", a[0], " * ", factor, " overflows 64 bits");
      return static_cast<int64_t>(r);
    }
    case DimKind::symbol:
    case DimKind::sum: break;
  }
  throw InternalError("size: a symbol or sum has no direct value");
}

using Monomial = std::vector<const DimExpr*>;
struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](auto* x, auto* y) { return x->id < y->id; });
  }
};
using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

void add_term(Polynomial& p, const Monomial& m, int64_t coefficient) {
  auto [it, is_new] = p.try_emplace(m, coefficient);
  if (!is_new) it->second = checked_add(it->second, coefficient);
  if (it->second == 0) p.erase(it);
}

Polynomial polynomial(Dim d) {
  Polynomial p;
  if (d.is_const()) {
    if (d.value() != 0) p[{}] = d.value();
  } else if (d.expr()->kind == DimKind::sum) {
    for (const DimTerm& t : d.expr()->terms) p[t.factors] = t.coefficient;
  } else {
    p[{d.expr()}] = 1;
  }
  return p;
}

DimRange monomial_range(const Monomial& m) {
  DimRange r{1, 1};
  for (const DimExpr* f : m) r = range_product(r, f->range);
  return r;
}

int64_t monomial_divisor(const Monomial& m) {
  int64_t d = 1;
  for (const DimExpr* f : m) {
    if (__builtin_mul_overflow(d, f->divisor, &d)) return 1;
  }
  return d;
}

DimTable* table_of(Dim a, Dim b = {}, Dim c = {}) {
  for (Dim d : {a, b, c})
    if (!d.is_const()) return d.expr()->table;
  return nullptr;
}

Dim from_polynomial(const Polynomial& p, DimTable* table) {
  if (p.empty()) return 0;
  if (p.size() == 1) {
    const auto& [monomial, coefficient] = *p.begin();
    if (monomial.empty()) return coefficient;
    if (monomial.size() == 1 && coefficient == 1) return Dim(*monomial[0]);
  }
  DimExpr e{.kind = DimKind::sum};
  e.range = {0, 0};
  e.divisor = 0;
  for (const auto& [monomial, coefficient] : p) {
    e.terms.push_back({coefficient, monomial});
    const DimRange r = range_product(monomial_range(monomial), {coefficient, coefficient});
    e.range = {saturating_add(e.range.low, r.low), saturating_add(e.range.high, r.high)};
    e.divisor = std::gcd(e.divisor, saturating_mul(coefficient, monomial_divisor(monomial)));
  }
  return Dim(*table->intern(std::move(e)));
}

Dim combine(Dim a, Dim b, int64_t sign) {
  Polynomial p = polynomial(a);
  for (const auto& [m, c] : polynomial(b)) add_term(p, m, checked_mul(c, sign));
  return from_polynomial(p, table_of(a, b));
}

Dim atom(DimKind kind, std::vector<Dim> args, DimRange range, int64_t divisor = 1, double factor = 0) {
  DimTable* table = nullptr;
  for (Dim d : args)
    if (!d.is_const()) table = d.expr()->table;
  DimExpr e{.kind = kind};
  e.args = std::move(args);
  e.factor = factor;
  e.range = range;
  e.divisor = divisor;
  return Dim(*table->intern(std::move(e)));
}

bool all_const(std::initializer_list<Dim> dims) {
  return std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_const(); });
}

Dim fold(DimKind kind, std::initializer_list<Dim> dims, double factor = 0) {
  int64_t a[3] = {};
  size_t i = 0;
  for (Dim d : dims) a[i++] = d.value();
  return apply(kind, a, factor);
}

// a / b when every term of a contains b (b != 0 is known); nullopt otherwise.
std::optional<Dim> divide_out(Dim a, Dim b) {
  const Polynomial divisor = polynomial(b);
  if (divisor.size() != 1 || b.is_const()) return std::nullopt;
  const auto& [factors, coefficient] = *divisor.begin();
  Polynomial result;
  for (const auto& [m, c] : polynomial(a)) {
    if (c % coefficient != 0) return std::nullopt;
    Monomial rest = m;
    for (const DimExpr* f : factors) {
      auto it = std::find(rest.begin(), rest.end(), f);
      if (it == rest.end()) return std::nullopt;
      rest.erase(it);
    }
    result[rest] = c / coefficient;
  }
  return from_polynomial(result, table_of(a, b));
}

// a = c * quotient + rest, where the rest holds the terms that c does not divide.
std::pair<Dim, Dim> split_multiple(Dim a, int64_t c) {
  Polynomial quotient, rest;
  for (const auto& [m, k] : polynomial(a)) {
    const int64_t q = floor_div(k, c), r = k - c * q;
    if (m.empty() || r == 0) {
      if (q != 0) quotient[m] = q;
      if (r != 0) rest[m] = r;
    } else {
      rest[m] = k;
    }
  }
  DimTable* t = table_of(a);
  return {from_polynomial(quotient, t), from_polynomial(rest, t)};
}

DimRange quotient_range(DimRange a, DimRange b, int64_t (*div)(int64_t, int64_t)) {
  if (b.low <= 0 || a.low < 0) return {kMin, kMax};
  return {div(a.low, b.high == kMax ? kMax : b.high), a.high == kMax ? kMax : div(a.high, b.low)};
}

}  // namespace

int64_t Dim::value() const {
  CHECK_INTERNAL(is_const(), "size: value of the symbolic size ", text(), " asked for");
  return value_;
}
DimRange Dim::range() const { return expr_ ? expr_->range : DimRange{value_, value_}; }
int64_t Dim::divisor() const { return expr_ ? expr_->divisor : std::abs(value_); }

Dim operator+(Dim a, Dim b) {
  if (all_const({a, b})) return checked_add(a.value(), b.value());
  return combine(a, b, 1);
}
Dim operator-(Dim a, Dim b) {
  if (all_const({a, b})) return checked_add(a.value(), checked_mul(b.value(), -1));
  if (a == b) return 0;
  return combine(a, b, -1);
}
Dim operator*(Dim a, Dim b) {
  if (all_const({a, b})) return checked_mul(a.value(), b.value());
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  Polynomial p;
  const Polynomial pa = polynomial(a), pb = polynomial(b);
  for (const auto& [ma, ca] : pa)
    for (const auto& [mb, cb] : pb) {
      Monomial m = ma;
      m.insert(m.end(), mb.begin(), mb.end());
      std::sort(m.begin(), m.end(), [](auto* x, auto* y) { return x->id < y->id; });
      add_term(p, m, checked_mul(ca, cb));
    }
  return from_polynomial(p, table_of(a, b));
}

Dim floordiv(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::floordiv, {a, b});
  if (b.is(1)) return a;
  const DimRange rb = b.range();
  if (rb.low > 0) {
    if (a == b) return 1;
    if (auto q = divide_out(a, b)) return *q;
    const DimRange ra = a.range();
    if (ra.low >= 0 && ra.high < rb.low) return 0;
  }
  if (b.is_const() && b.value() > 0) {
    const int64_t c = b.value();
    auto [quotient, rest] = split_multiple(a, c);
    if (rest.is(0)) return quotient;
    if (!quotient.is(0)) return quotient + floordiv(rest, b);
    if (!a.is_const() && a.expr()->kind == DimKind::floordiv && a.expr()->args[1].is_const() &&
        a.expr()->args[1].value() > 0) {
      return floordiv(a.expr()->args[0], a.expr()->args[1] * b);
    }
    if (a.divisor() != 0 && a.divisor() % c == 0)
      return atom(DimKind::floordiv, {a, b}, quotient_range(a.range(), rb, floor_div),
                  a.divisor() / c);
  }
  return atom(DimKind::floordiv, {a, b}, quotient_range(a.range(), rb, floor_div));
}

Dim ceildiv(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::ceildiv, {a, b});
  if (b.is(1)) return a;
  if (b.range().low > 0) {
    if (a == b) return 1;
    if (auto q = divide_out(a, b)) return *q;
  }
  if (b.is_const() && b.value() > 0) {
    auto [quotient, rest] = split_multiple(a, b.value());
    if (rest.is(0)) return quotient;
    if (!quotient.is(0)) return quotient + ceildiv(rest, b);
    if (a.divisor() != 0 && a.divisor() % b.value() == 0) return floordiv(a, b);
  }
  return atom(DimKind::ceildiv, {a, b}, quotient_range(a.range(), b.range(), ceil_div));
}

Dim dim_mod(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::mod, {a, b});
  if (b.is(1)) return 0;
  const DimRange rb = b.range();
  if (rb.low > 0) {
    const DimRange ra = a.range();
    if (a == b || divide_out(a, b)) return 0;
    if (ra.low >= 0 && ra.high < rb.low) return a;
    if (b.is_const()) {
      if (a.divisor() != 0 && a.divisor() % b.value() == 0) return 0;
      auto [quotient, rest] = split_multiple(a, b.value());
      if (!quotient.is(0)) return dim_mod(rest, b);
    }
    return atom(DimKind::mod, {a, b}, {0, rb.high == kMax ? kMax : rb.high - 1});
  }
  return atom(DimKind::mod, {a, b}, {kMin, kMax});
}

Dim dim_min(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::min, {a, b});
  if (a == b) return a;
  const DimRange d = (a - b).range();
  if (d.high <= 0) return a;
  if (d.low >= 0) return b;
  const DimRange ra = a.range(), rb = b.range();
  if (b.is_const() || (!a.is_const() && b.expr()->id < a.expr()->id)) std::swap(a, b);
  return atom(DimKind::min, {a, b}, {std::min(ra.low, rb.low), std::min(ra.high, rb.high)},
              std::gcd(a.divisor(), b.divisor()));
}

Dim dim_max(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::max, {a, b});
  if (a == b) return a;
  const DimRange d = (a - b).range();
  if (d.high <= 0) return b;
  if (d.low >= 0) return a;
  const DimRange ra = a.range(), rb = b.range();
  if (b.is_const() || (!a.is_const() && b.expr()->id < a.expr()->id)) std::swap(a, b);
  return atom(DimKind::max, {a, b}, {std::max(ra.low, rb.low), std::max(ra.high, rb.high)},
              std::gcd(a.divisor(), b.divisor()));
}

Dim dim_less(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::less, {a, b});
  const DimRange d = (a - b).range();
  if (d.high < 0) return 1;
  if (d.low >= 0) return 0;
  return atom(DimKind::less, {a, b}, {0, 1});
}

Dim dim_equal(Dim a, Dim b) {
  const Equal e = compare(a, b);
  if (e == Equal::yes) return 1;
  if (e == Equal::no) return 0;
  if (b.is_const() || (!a.is_const() && b.expr()->id < a.expr()->id)) std::swap(a, b);
  return atom(DimKind::equal, {a, b}, {0, 1});
}

Dim dim_select(Dim condition, Dim a, Dim b) {
  if (condition.is_const()) return condition.value() != 0 ? a : b;
  if (a == b) return a;
  const DimRange rc = condition.range(), ra = a.range(), rb = b.range();
  if (rc.low > 0 || rc.high < 0) return a;
  return atom(DimKind::select, {condition, a, b},
              {std::min(ra.low, rb.low), std::max(ra.high, rb.high)},
              std::gcd(a.divisor(), b.divisor()));
}

namespace {
Dim scaled(DimKind kind, Dim a, double factor) {
  if (factor == 1.0) return a;
  if (a.is_const()) return fold(kind, {a}, factor);
  const bool keeps_sign = a.range().low >= 0 && factor >= 0;
  return atom(kind, {a}, {keeps_sign ? 0 : kMin, kMax}, 1, factor);
}
}  // namespace

Dim floor_mul(Dim a, double factor) { return scaled(DimKind::floor_mul, a, factor); }
Dim ceil_mul(Dim a, double factor) { return scaled(DimKind::ceil_mul, a, factor); }

Dim dim_broadcast(Dim a, Dim b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  CHECK_USER(broadcastable(a, b) != Equal::no, "size: ", a.text(), " and ", b.text(),
             " do not broadcast; want equal sizes or one of them 1");
  // A size that is never 1 wins: the other one equals it or is 1.
  if (a.range().low > 1 || a.is(0)) return a;
  if (b.range().low > 1 || b.is(0)) return b;
  if (b.is_const() || (!a.is_const() && b.expr()->id < a.expr()->id)) std::swap(a, b);
  const DimRange ra = a.range(), rb = b.range();
  return atom(DimKind::broadcast, {a, b},
              {std::min(ra.low, rb.low), std::max(ra.high, rb.high)});
}

Equal compare(Dim a, Dim b) {
  if (a == b) return Equal::yes;
  if (all_const({a, b})) return Equal::no;
  const Dim d = a - b;
  if (d.is_const()) return d.value() == 0 ? Equal::yes : Equal::no;
  const DimRange r = d.range();
  if (r.low > 0 || r.high < 0) return Equal::no;
  // c + (multiple of k) is never 0 when k does not divide c.
  int64_t constant = 0, k = 0;
  for (const auto& [m, c] : polynomial(d)) {
    if (m.empty()) constant = c;
    else k = std::gcd(k, saturating_mul(c, monomial_divisor(m)));
  }
  if (k > 1 && constant % k != 0) return Equal::no;
  return Equal::unknown;
}

Equal broadcastable(Dim a, Dim b) {
  if (a == b || a.is(1) || b.is(1)) return Equal::yes;
  if (compare(a, b) != Equal::no) return compare(a, b);
  return compare(a, 1) == Equal::no && compare(b, 1) == Equal::no ? Equal::no : Equal::unknown;
}

int64_t evaluate(Dim dim, const DimBinding& binding) {
  if (dim.is_const()) return dim.value();
  const DimExpr& e = *dim.expr();
  if (e.kind == DimKind::symbol) {
    CHECK_USER(e.symbol < binding.size() && binding[e.symbol].has_value(), "size: symbol '", e.name,
               "' is not bound");
    return *binding[e.symbol];
  }
  if (e.kind == DimKind::sum) {
    int64_t sum = 0;
    for (const DimTerm& t : e.terms) {
      int64_t product = t.coefficient;
      for (const DimExpr* f : t.factors) product = checked_mul(product, evaluate(Dim(*f), binding));
      sum = checked_add(sum, product);
    }
    return sum;
  }
  int64_t a[3] = {};
  for (size_t i = 0; i < e.args.size(); ++i) a[i] = evaluate(e.args[i], binding);
  return apply(e.kind, a, e.factor);
}

// --- DimProgram

size_t DimProgram::add(Dim dim) {
  if (dim.is_const()) {
    auto [it, is_new] = result_of_const_.try_emplace(dim.value(), results_.size());
    if (is_new) results_.emplace_back(true, dim.value());
    return it->second;
  }
  auto it = result_of_expr_.find(dim.expr());
  if (it != result_of_expr_.end()) return it->second;
  const size_t slot = slot_of(dim.expr());
  results_.emplace_back(false, static_cast<int64_t>(slot));
  result_of_expr_[dim.expr()] = results_.size() - 1;
  return results_.size() - 1;
}

size_t DimProgram::slot_of(const DimExpr* expr) {
  auto it = slots_.find(expr);
  if (it != slots_.end()) return it->second;
  Step step{.expr = expr, .terms = {}, .args = {}};
  for (const DimTerm& t : expr->terms) {
    std::vector<uint32_t> factors;
    for (const DimExpr* f : t.factors) factors.push_back(static_cast<uint32_t>(slot_of(f)));
    step.terms.emplace_back(t.coefficient, std::move(factors));
  }
  for (Dim d : expr->args) {
    if (d.is_const()) step.args.emplace_back(true, d.value());
    else step.args.emplace_back(false, static_cast<int64_t>(slot_of(d.expr())));
  }
  steps_.push_back(std::move(step));
  slots_[expr] = static_cast<uint32_t>(steps_.size() - 1);
  return steps_.size() - 1;
}

void DimProgram::run(std::span<const int64_t> symbols, std::span<int64_t> values) const {
  std::vector<int64_t> slot(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.expr->kind == DimKind::symbol) {
      slot[i] = symbols[s.expr->symbol];
    } else if (s.expr->kind == DimKind::sum) {
      int64_t sum = 0;
      for (const auto& [coefficient, factors] : s.terms) {
        int64_t product = coefficient;
        for (uint32_t f : factors) product = checked_mul(product, slot[f]);
        sum = checked_add(sum, product);
      }
      slot[i] = sum;
    } else {
      int64_t a[3] = {};
      for (size_t j = 0; j < s.args.size(); ++j)
        a[j] = s.args[j].first ? s.args[j].second : slot[static_cast<size_t>(s.args[j].second)];
      slot[i] = apply(s.expr->kind, a, s.expr->factor);
    }
  }
  for (size_t i = 0; i < results_.size(); ++i)
    values[i] = results_[i].first ? results_[i].second : slot[static_cast<size_t>(results_[i].second)];
}

std::vector<const DimExpr*> DimProgram::used_symbols() const {
  std::vector<const DimExpr*> used;
  for (const Step& s : steps_)
    if (s.expr->kind == DimKind::symbol) used.push_back(s.expr);
  return used;
}

}  // namespace lamella
