// Canonical sums of products over atoms, with interval and divisor facts that decide comparisons.
#include "lamella/ir/dim.h"

#include <algorithm>
#include <compare>
#include <map>

#include "lamella/base/error.h"
#include "lamella/ir/dim_math.h"

namespace lamella {
namespace {

using namespace dim_math;

std::strong_ordering order(const DimExpr& a, const DimExpr& b);

std::strong_ordering order(const std::vector<const DimExpr*>& a,
                           const std::vector<const DimExpr*>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) return order(*a[i], *b[i]);
  return a.size() <=> b.size();
}

// The order of terms, factors and interchangeable arguments: by form alone, so that a size reads
// the same in every table. Shared parts are the same pointer, hence the walk goes down one path.
std::strong_ordering order(const DimExpr& a, const DimExpr& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (a.kind != b.kind) return a.kind <=> b.kind;
  if (a.kind == DimKind::symbol) return a.name.compare(b.name) <=> 0;
  for (size_t i = 0; i < std::min(a.terms.size(), b.terms.size()); ++i) {
    const DimTerm &x = a.terms[i], &y = b.terms[i];
    if (x.factors != y.factors) return order(x.factors, y.factors);
    if (x.coefficient != y.coefficient) return x.coefficient <=> y.coefficient;
  }
  if (a.terms.size() != b.terms.size()) return a.terms.size() <=> b.terms.size();
  for (size_t i = 0; i < a.args.size(); ++i) {
    const Dim x = a.args[i], y = b.args[i];
    if (x == y) continue;
    if (!x.is_const() && !y.is_const()) return order(*x.expr(), *y.expr());
    if (x.is_const() && y.is_const()) return x.value() <=> y.value();
    return x.is_const() ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return a.factor < b.factor ? std::strong_ordering::less : std::strong_ordering::greater;
}

bool comes_before(const DimExpr* a, const DimExpr* b) { return order(*a, *b) < 0; }

// Constants first, then by form.
void sort_pair(Dim& a, Dim& b) {
  if (b.is_const() || (!a.is_const() && comes_before(b.expr(), a.expr()))) std::swap(a, b);
}

using Monomial = std::vector<const DimExpr*>;
struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const { return order(a, b) < 0; }
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

DimRange term_range(const Monomial& m, int64_t coefficient) {
  DimRange r{1, 1};
  for (const DimExpr* f : m) r = range_product(r, f->range);
  return range_product(r, {coefficient, coefficient});
}

// A number that divides coefficient * monomial: the full product where it fits, else some of its
// factors.
int64_t term_divisor(const Monomial& m, int64_t coefficient) {
  int64_t d = gcd(coefficient, 0);
  for (const DimExpr* f : m) {
    int64_t product;
    if (!__builtin_mul_overflow(d, f->divisor, &product)) d = product;
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
    e.range = range_sum(e.range, term_range(monomial, coefficient));
    e.divisor = gcd(e.divisor, term_divisor(monomial, coefficient));
  }
  return Dim(*table->intern(std::move(e)));
}

Polynomial combine(Dim a, Dim b, int64_t sign) {
  Polynomial p = polynomial(a);
  for (const auto& [m, c] : polynomial(b)) add_term(p, m, checked_mul(c, sign));
  return p;
}

Dim atom(DimKind kind, std::vector<Dim> args, DimRange range, int64_t divisor = 1,
         double factor = 0) {
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

// a / b when every term of a contains b (b > 0 is known); nullopt otherwise.
std::optional<Dim> divide_out(Dim a, Dim b) {
  const Polynomial divisor = polynomial(b);
  if (divisor.size() != 1 || b.is_const()) return std::nullopt;
  const auto& [factors, coefficient] = *divisor.begin();
  Polynomial result;
  for (const auto& [m, c] : polynomial(a)) {
    if ((c == kMin && coefficient == -1) || c % coefficient != 0) return std::nullopt;
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

// a = c * quotient + rest (c > 0), where the rest holds the terms that c does not divide and a
// constant in [0, c).
std::pair<Dim, Dim> split_multiple(Dim a, int64_t c) {
  Polynomial quotient, rest;
  for (const auto& [m, k] : polynomial(a)) {
    const int64_t q = floor_div(k, c), r = floor_mod(k, c);
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

int64_t constant_term(Dim d) {
  if (d.is_const()) return d.value();
  for (const DimTerm& t : d.expr()->terms)
    if (t.factors.empty()) return t.coefficient;
  return 0;
}

// Bounds of a / b rounded by `div`, for b > 0: a quotient is nearest to 0 where b is largest.
DimRange quotient_range(DimRange a, DimRange b, int64_t (*div)(int64_t, int64_t)) {
  if (b.low <= 0) return {kMin, kMax};
  return {a.low == kMin ? kMin : div(a.low, a.low >= 0 ? b.high : b.low),
          a.high == kMax ? kMax : div(a.high, a.high >= 0 ? b.low : b.high)};
}

// Bounds of a - b, from the terms that do not cancel.
DimRange difference_range(Dim a, Dim b) {
  const DimRange rb = b.range();
  const DimRange plain =
      range_sum(a.range(), {saturating_negate(rb.high), saturating_negate(rb.low)});
  if (a.is_const() || b.is_const()) return plain;
  try {
    DimRange r{0, 0};
    for (const auto& [m, c] : combine(a, b, -1)) r = range_sum(r, term_range(m, c));
    return {std::max(r.low, plain.low), std::min(r.high, plain.high)};
  } catch (const UserError&) {
    return plain;  // coefficients overflow
  }
}

// a <= b for every binding.
bool never_above(Dim a, Dim b) {
  return a.range().high <= b.range().low || difference_range(a, b).high <= 0;
}

bool is_call(Dim d, DimKind kind) { return !d.is_const() && d.expr()->kind == kind; }

Dim floordiv_by(Dim a, int64_t c) {
  auto [quotient, rest] = split_multiple(a, c);
  if (rest.is(0)) return quotient;
  if (!quotient.is(0)) return quotient + floordiv(rest, c);
  // floor((x + c - 1) / c) is ceil(x / c), and that is how it reads.
  if (constant_term(a) == c - 1) return ceildiv(a - (c - 1), c);
  int64_t product;
  if (is_call(a, DimKind::floordiv) && a.expr()->args[1].is_const() &&
      a.expr()->args[1].value() > 0 &&
      !__builtin_mul_overflow(a.expr()->args[1].value(), c, &product))
    return floordiv(a.expr()->args[0], product);
  const bool divides = a.divisor() % c == 0;
  return atom(DimKind::floordiv, {a, c}, quotient_range(a.range(), {c, c}, floor_div),
              divides ? a.divisor() / c : 1);
}

Dim ceildiv_by(Dim a, int64_t c) {
  auto [quotient, rest] = split_multiple(a, c);
  if (rest.is(0)) return quotient;
  if (!quotient.is(0)) return quotient + ceildiv(rest, c);
  if (a.divisor() % c == 0) return floordiv(a, c);
  if (constant_term(a) > 0) return floordiv(a - 1, c) + 1;
  return atom(DimKind::ceildiv, {a, c}, quotient_range(a.range(), {c, c}, ceil_div));
}

}  // namespace

int64_t Dim::value() const {
  CHECK_INTERNAL(is_const(), "size: value of the symbolic size ", text(), " asked for");
  return value_;
}
DimRange Dim::range() const { return expr_ ? expr_->range : DimRange{value_, value_}; }
int64_t Dim::divisor() const { return expr_ ? expr_->divisor : gcd(value_, 0); }

Dim operator+(Dim a, Dim b) {
  if (all_const({a, b})) return checked_add(a.value(), b.value());
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return from_polynomial(combine(a, b, 1), table_of(a, b));
}
Dim operator-(Dim a, Dim b) {
  if (all_const({a, b})) {
    int64_t r;
    CHECK_USER(!__builtin_sub_overflow(a.value(), b.value(), &r), "size: ", a.value(), " - ",
               b.value(), " overflows 64 bits");
    return r;
  }
  if (a == b) return 0;
  return from_polynomial(combine(a, b, -1), table_of(a, b));
}
Dim operator*(Dim a, Dim b) {
  if (all_const({a, b})) return checked_mul(a.value(), b.value());
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  Polynomial p;
  const Polynomial pa = polynomial(a), pb = polynomial(b);
  CHECK_USER(pa.size() * pb.size() <= kMaxDimWeight, "size: product of ", pa.size(), " and ",
             pb.size(), " terms; want at most ", kMaxDimWeight);
  for (const auto& [ma, ca] : pa)
    for (const auto& [mb, cb] : pb) {
      Monomial m = ma;
      m.insert(m.end(), mb.begin(), mb.end());
      std::sort(m.begin(), m.end(), comes_before);
      add_term(p, m, checked_mul(ca, cb));
    }
  return from_polynomial(p, table_of(a, b));
}

Dim floordiv(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::floordiv, {a, b});
  if (b.is(1)) return a;
  const DimRange ra = a.range(), rb = b.range();
  if (rb.low > 0) {
    if (a == b) return 1;
    if (auto q = divide_out(a, b)) return *q;
    if (ra.low >= 0 && ra.high < rb.low) return 0;
    if (b.is_const()) return floordiv_by(a, b.value());
  }
  return atom(DimKind::floordiv, {a, b}, quotient_range(ra, rb, floor_div));
}

Dim ceildiv(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::ceildiv, {a, b});
  if (b.is(1)) return a;
  const DimRange ra = a.range(), rb = b.range();
  if (rb.low > 0) {
    if (a == b) return 1;
    if (auto q = divide_out(a, b)) return *q;
    if (ra.low > 0 && ra.high <= rb.low) return 1;
    if (b.is_const()) return ceildiv_by(a, b.value());
  }
  return atom(DimKind::ceildiv, {a, b}, quotient_range(ra, rb, ceil_div));
}

Dim dim_mod(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::mod, {a, b});
  if (b.is(1)) return 0;
  const DimRange ra = a.range(), rb = b.range();
  if (rb.low <= 0) return atom(DimKind::mod, {a, b}, {kMin, kMax});
  if (a == b || divide_out(a, b)) return 0;
  if (ra.low >= 0 && ra.high < rb.low) return a;
  if (b.is_const()) {
    if (a.divisor() % b.value() == 0) return 0;
    auto [quotient, rest] = split_multiple(a, b.value());
    if (!quotient.is(0)) return dim_mod(rest, b);
  }
  return atom(DimKind::mod, {a, b}, {0, rb.high == kMax ? kMax : rb.high - 1},
              gcd(a.divisor(), b.divisor()));
}

Dim dim_min(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::min, {a, b});
  if (never_above(a, b)) return a;
  if (never_above(b, a)) return b;
  const DimRange ra = a.range(), rb = b.range();
  sort_pair(a, b);
  return atom(DimKind::min, {a, b}, {std::min(ra.low, rb.low), std::min(ra.high, rb.high)},
              gcd(a.divisor(), b.divisor()));
}

Dim dim_max(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::max, {a, b});
  if (never_above(a, b)) return b;
  if (never_above(b, a)) return a;
  const DimRange ra = a.range(), rb = b.range();
  sort_pair(a, b);
  return atom(DimKind::max, {a, b}, {std::max(ra.low, rb.low), std::max(ra.high, rb.high)},
              gcd(a.divisor(), b.divisor()));
}

Dim dim_less(Dim a, Dim b) {
  if (all_const({a, b})) return fold(DimKind::less, {a, b});
  if (never_above(b, a)) return 0;
  if (difference_range(a, b).high < 0) return 1;
  return atom(DimKind::less, {a, b}, {0, 1});
}

Dim dim_equal(Dim a, Dim b) {
  const Equal e = compare(a, b);
  if (e == Equal::yes) return 1;
  if (e == Equal::no) return 0;
  sort_pair(a, b);
  return atom(DimKind::equal, {a, b}, {0, 1});
}

Dim dim_select(Dim condition, Dim a, Dim b) {
  if (condition.is_const()) return condition.value() != 0 ? a : b;
  if (a == b) return a;
  const DimRange rc = condition.range(), ra = a.range(), rb = b.range();
  if (rc.low > 0 || rc.high < 0) return a;
  return atom(DimKind::select, {condition, a, b},
              {std::min(ra.low, rb.low), std::max(ra.high, rb.high)},
              gcd(a.divisor(), b.divisor()));
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
  const auto holds = [](Dim x, Dim y) {
    return is_call(x, DimKind::broadcast) && (x.expr()->args[0] == y || x.expr()->args[1] == y);
  };
  if (holds(a, b)) return a;
  if (holds(b, a)) return b;
  sort_pair(a, b);
  const DimRange ra = a.range(), rb = b.range();
  return atom(DimKind::broadcast, {a, b}, {std::min(ra.low, rb.low), std::max(ra.high, rb.high)});
}

Equal compare(Dim a, Dim b) {
  if (a == b) return Equal::yes;
  if (all_const({a, b})) return Equal::no;
  const DimRange r = difference_range(a, b);
  if (r.low > 0 || r.high < 0) return Equal::no;
  // c + (multiple of k) is never 0 when k does not divide c.
  int64_t constant = 0, k = 0;
  try {
    for (const auto& [m, c] : combine(a, b, -1)) {
      if (m.empty())
        constant = c;
      else
        k = gcd(k, term_divisor(m, c));
    }
  } catch (const UserError&) {
    return Equal::unknown;  // coefficients overflow
  }
  if (k > 1 && constant % k != 0) return Equal::no;
  return Equal::unknown;
}

Equal broadcastable(Dim a, Dim b) {
  if (a == b || a.is(1) || b.is(1)) return Equal::yes;
  if (compare(a, b) != Equal::no) return compare(a, b);
  return compare(a, 1) == Equal::no && compare(b, 1) == Equal::no ? Equal::no : Equal::unknown;
}

}  // namespace lamella
