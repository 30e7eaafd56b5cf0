// The interner of sizes, and the text form of a size: printing and parsing.
#include <algorithm>
#include <array>
#include <charconv>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/ir/dim.h"

namespace lamella {
namespace {

struct KindName {
  DimKind kind;
  std::string_view name;
  size_t n_args;
};
// The functions of the text form. `floor_mul(a, 2.5)` takes its factor as a second argument.
constexpr std::array kFunctions = {
    KindName{DimKind::floordiv, "floordiv", 2}, KindName{DimKind::ceildiv, "ceildiv", 2},
    KindName{DimKind::mod, "mod", 2},           KindName{DimKind::min, "min", 2},
    KindName{DimKind::max, "max", 2},           KindName{DimKind::broadcast, "broadcast", 2},
    KindName{DimKind::less, "less", 2},         KindName{DimKind::equal, "equal", 2},
    KindName{DimKind::select, "select", 3},     KindName{DimKind::floor_mul, "floor_mul", 1},
    KindName{DimKind::ceil_mul, "ceil_mul", 1},
};

bool takes_factor(DimKind kind) { return kind == DimKind::floor_mul || kind == DimKind::ceil_mul; }

// Keys of expressions start with a letter, those of symbols with '$'.
std::string symbol_key(std::string_view name) {
  std::string key(1, '$');
  key.append(name);
  return key;
}

std::string key_of(const DimExpr& e) {
  std::string key(1, static_cast<char>('A' + static_cast<int>(e.kind)));
  auto put = [&key](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  for (const DimTerm& t : e.terms) {
    put(t.coefficient);
    put(static_cast<uint32_t>(t.factors.size()));
    for (const DimExpr* f : t.factors) put(f->id);
  }
  for (Dim d : e.args) {
    const bool is_const = d.is_const();
    put(is_const);
    if (is_const)
      put(d.value());
    else
      put(d.expr()->id);
  }
  put(e.factor);
  return key;
}

// Sets weight and depth; UserError where they pass the limits.
void measure(DimExpr& e) {
  uint64_t weight = 1;
  const auto part = [&](const DimExpr& p) {
    weight += p.weight;
    e.depth = std::max(e.depth, p.depth + 1);
  };
  for (const DimTerm& t : e.terms) {
    weight += 1;
    for (const DimExpr* f : t.factors) part(*f);
  }
  for (Dim d : e.args) {
    weight += 1;
    if (!d.is_const()) part(*d.expr());
  }
  CHECK_USER(weight <= kMaxDimWeight && e.depth <= kMaxDimDepth, "size: an expression of ", weight,
             " parts, nested ", e.depth, " deep; want at most ", kMaxDimWeight, " and ",
             kMaxDimDepth);
  e.weight = static_cast<uint32_t>(weight);
}

std::string expr_text(const DimExpr& e);

std::string product_text(const DimTerm& t) {
  std::string out;
  const int64_t c = t.coefficient;
  if (t.factors.empty() || (c != 1 && c != -1))
    out = str(c);
  else if (c == -1)
    out = "-";
  for (const DimExpr* f : t.factors) {
    if (!out.empty() && out != "-") out += "*";
    out += expr_text(*f);
  }
  return out;
}

std::string expr_text(const DimExpr& e) {
  if (e.kind == DimKind::symbol) return is_name(e.name) ? e.name : quoted(e.name);
  std::string out;
  if (e.kind == DimKind::sum) {
    // The constant term is the first in canonical order and reads better at the end.
    auto append = [&out](const DimTerm& t) {
      const std::string p = product_text(t);
      if (!out.empty() && p[0] != '-') out += "+";
      out += p;
    };
    for (const DimTerm& t : e.terms)
      if (!t.factors.empty()) append(t);
    for (const DimTerm& t : e.terms)
      if (t.factors.empty()) append(t);
    return out;
  }
  for (const KindName& f : kFunctions)
    if (f.kind == e.kind) out = std::string(f.name) + "(";
  for (size_t i = 0; i < e.args.size(); ++i) out += (i ? ", " : "") + e.args[i].text();
  if (takes_factor(e.kind)) out += ", " + number_text(e.factor);
  return out + ")";
}

// Recursive descent over: sum := product (('+'|'-') product)*; product := atom ('*' atom)*.
class Parser {
 public:
  Parser(DimTable& table, std::string_view text, size_t at)
      : table_(table), text_(text), start_(at), at_(at) {}

  Dim sum(int depth = 0) {
    CHECK_USER(depth < kMaxDepth, "size: nested deeper than ", kMaxDepth);
    Dim d = product(depth);
    while (true) {
      skip();
      if (accept('+'))
        d = d + product(depth);
      else if (at_ < text_.size() && text_[at_] == '-')
        d = d + product(depth);
      else
        return d;
    }
  }
  size_t at() const { return at_; }

 private:
  static constexpr int kMaxDepth = kMaxDimDepth + 8;  // parentheses of the writer's own

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void fail(std::string_view want) const {
    throw UserError(str("size: cannot read '", printable(text_.substr(start_, 60), 60), "'; got '",
                        printable(text_.substr(std::min(at_, text_.size()), 20), 20), "'; want ",
                        want));
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }
  Dim product(int depth) {
    // The sign belongs to the first number, whose range reaches one further below zero.
    const bool negative = accept('-');
    Dim d = negative && !at_digit() ? Dim(-1) * atom(depth, false) : atom(depth, negative);
    while (accept('*')) d = d * atom(depth, accept('-'));
    return d;
  }
  bool at_digit() {
    skip();
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }
  Dim atom(int depth, bool negative) {
    if (at_digit()) return integer(negative);
    const Dim d = named(depth);
    return negative ? Dim(-1) * d : d;
  }
  Dim named(int depth) {
    if (accept('(')) {
      const Dim d = sum(depth + 1);
      expect(')');
      return d;
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      size_t length = 0;
      const auto name = read_quoted(text_.substr(at_), length);
      if (!name) fail("a quoted name");
      at_ += length;
      return table_.symbol(*name);
    }
    const std::string_view name = leading_name(text_.substr(at_));
    if (name.empty()) fail("a number or a name");
    at_ += name.size();
    return accept('(') ? call(name, depth) : table_.symbol(name);
  }
  Dim integer(bool negative) {
    std::string digits = negative ? "-" : "";
    for (size_t i = at_; i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; ++i)
      digits += text_[i];
    const auto value = parse_int(digits);
    if (!value) fail("an integer of 64 bits");
    at_ += digits.size() - negative;
    return *value;
  }
  double number() {
    skip();
    double v = 0;
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (r.ec != std::errc()) fail("a factor");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return v;
  }
  Dim call(std::string_view name, int depth) {
    for (const KindName& f : kFunctions) {
      if (f.name != name) continue;
      Dim a[3];
      for (size_t i = 0; i < f.n_args; ++i) {
        if (i) expect(',');
        a[i] = sum(depth + 1);
      }
      double factor = 0;
      if (takes_factor(f.kind)) {
        expect(',');
        factor = number();
      }
      expect(')');
      return build(f.kind, a, factor);
    }
    std::vector<std::string_view> names;
    for (const KindName& f : kFunctions) names.push_back(f.name);
    throw UserError(
        str("size: unknown function '", printable(name, 40), "'", did_you_mean(name, names)));
  }
  static Dim build(DimKind kind, const Dim* a, double factor) {
    switch (kind) {
      case DimKind::floordiv:
        return floordiv(a[0], a[1]);
      case DimKind::ceildiv:
        return ceildiv(a[0], a[1]);
      case DimKind::mod:
        return dim_mod(a[0], a[1]);
      case DimKind::min:
        return dim_min(a[0], a[1]);
      case DimKind::max:
        return dim_max(a[0], a[1]);
      case DimKind::broadcast:
        return dim_broadcast(a[0], a[1]);
      case DimKind::less:
        return dim_less(a[0], a[1]);
      case DimKind::equal:
        return dim_equal(a[0], a[1]);
      case DimKind::select:
        return dim_select(a[0], a[1], a[2]);
      case DimKind::floor_mul:
        return floor_mul(a[0], factor);
      case DimKind::ceil_mul:
        return ceil_mul(a[0], factor);
      case DimKind::symbol:
      case DimKind::sum:
        break;
    }
    throw InternalError("size: no such function");
  }

  DimTable& table_;
  std::string_view text_;
  size_t start_, at_;
};

}  // namespace

std::string Dim::text() const { return expr_ ? expr_text(*expr_) : str(value_); }

Dim DimTable::symbol(std::string_view name, DimRange range, int64_t divisor) {
  CHECK_USER(!name.empty(), "size: a symbol needs a name");
  CHECK_USER(range.low <= range.high && divisor >= 1, "size: symbol '", name,
             "' has an empty range or a bad divisor");
  std::lock_guard lock(mutex_);
  const std::string key = symbol_key(name);
  auto it = by_key_.find(key);
  if (it != by_key_.end()) {
    const DimExpr& e = *it->second;
    const bool same =
        (range == DimRange{} || range == e.range) && (divisor == 1 || divisor == e.divisor);
    CHECK_USER(same, "size: symbol '", name, "' is declared twice with other bounds; got [",
               range.low, ", ", range.high, "] % ", divisor, "; want [", e.range.low, ", ",
               e.range.high, "] % ", e.divisor);
    return Dim(*it->second);
  }
  DimExpr e{.kind = DimKind::symbol};
  e.name = name;
  e.symbol = static_cast<uint32_t>(symbols_.size());
  e.range = range;
  e.divisor = divisor;
  e.id = static_cast<uint32_t>(exprs_.size());
  e.table = this;
  exprs_.push_back(std::move(e));
  symbols_.push_back(&exprs_.back());
  by_key_[key] = &exprs_.back();
  return Dim(exprs_.back());
}

Dim DimTable::fresh(std::string_view prefix) {
  std::lock_guard lock(mutex_);
  std::string name(prefix);
  for (size_t i = symbols_.size(); by_key_.count(symbol_key(name)); ++i) name = str(prefix, ".", i);
  return symbol(name);
}

std::optional<Dim> DimTable::find_symbol(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto it = by_key_.find(symbol_key(name));
  if (it == by_key_.end()) return std::nullopt;
  return Dim(*it->second);
}

std::vector<const DimExpr*> DimTable::symbols() const {
  std::lock_guard lock(mutex_);
  return symbols_;
}

size_t DimTable::n_symbols() const {
  std::lock_guard lock(mutex_);
  return symbols_.size();
}

Dim DimTable::parse(std::string_view text, size_t& at) {
  Parser parser(*this, text, at);
  const Dim d = parser.sum();
  at = parser.at();
  return d;
}

Dim DimTable::parse(std::string_view text) {
  size_t at = 0;
  const Dim d = parse(text, at);
  while (at < text.size() && text[at] == ' ') ++at;
  CHECK_USER(at == text.size(), "size: cannot read '", printable(text, 60), "'; got '",
             printable(text.substr(at), 20), "' behind a complete size");
  return d;
}

const DimExpr* DimTable::intern(DimExpr expr) {
  std::lock_guard lock(mutex_);
  std::string key = key_of(expr);
  auto it = by_key_.find(key);
  if (it != by_key_.end()) return it->second;
  measure(expr);
  expr.id = static_cast<uint32_t>(exprs_.size());
  expr.table = this;
  exprs_.push_back(std::move(expr));
  by_key_.emplace(std::move(key), &exprs_.back());
  return &exprs_.back();
}

}  // namespace lamella
