// The interner of sizes, and the text form of a size: printing and parsing.
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

#include "lamella/base/error.h"
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

std::string factor_text(double factor) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, factor).ptr;
  return std::string(buffer, end);
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
  if (e.kind == DimKind::symbol) return e.name;
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
  if (takes_factor(e.kind)) out += ", " + factor_text(e.factor);
  return out + ")";
}

// Recursive descent over: sum := product (('+'|'-') product)*; product := atom ('*' atom)*.
class Parser {
 public:
  Parser(DimTable& table, std::string_view text) : table_(table), text_(text) {}

  Dim parse() {
    const Dim d = sum(0);
    CHECK_USER(at_ == text_.size(), "size: cannot read '", text_, "'; got '", text_.substr(at_),
               "' behind a complete size");
    return d;
  }

 private:
  static constexpr int kMaxDepth = 64;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    CHECK_USER(accept(c), "size: cannot read '", text_, "'; want '", c, "' at byte ", at_);
  }
  Dim sum(int depth) {
    CHECK_USER(depth < kMaxDepth, "size: nested deeper than ", kMaxDepth);
    Dim d = accept('-') ? Dim(0) - product(depth) : product(depth);
    while (true) {
      if (accept('+'))
        d = d + product(depth);
      else if (accept('-'))
        d = d - product(depth);
      else
        return d;
    }
  }
  Dim product(int depth) {
    Dim d = atom(depth);
    while (accept('*')) d = d * atom(depth);
    return d;
  }
  std::string_view word() {
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  Dim atom(int depth) {
    skip();
    if (accept('(')) {
      const Dim d = sum(depth + 1);
      expect(')');
      return d;
    }
    const bool negative = accept('-');
    const std::string_view w = word();
    CHECK_USER(!w.empty(), "size: cannot read '", text_, "'; want a number or a name at byte ",
               at_);
    if (std::isdigit(static_cast<unsigned char>(w[0]))) {
      int64_t v = 0;
      const auto r = std::from_chars(w.data(), w.data() + w.size(), v);
      CHECK_USER(r.ec == std::errc() && r.ptr == w.data() + w.size(), "size: bad number '", w, "'");
      return negative ? -v : v;
    }
    const Dim d = accept('(') ? call(w, depth) : table_.symbol(w);
    return negative ? Dim(0) - d : d;
  }
  double number() {
    skip();
    double v = 0;
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    CHECK_USER(r.ec == std::errc(), "size: cannot read '", text_, "'; want a factor at byte ", at_);
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
    throw UserError(str("size: unknown function '", name, "' in '", text_, "'"));
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
  size_t at_ = 0;
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

Dim DimTable::parse(std::string_view text) { return Parser(*this, text).parse(); }

const DimExpr* DimTable::intern(DimExpr expr) {
  std::lock_guard lock(mutex_);
  std::string key = key_of(expr);
  auto it = by_key_.find(key);
  if (it != by_key_.end()) return it->second;
  expr.id = static_cast<uint32_t>(exprs_.size());
  expr.table = this;
  exprs_.push_back(std::move(expr));
  by_key_.emplace(std::move(key), &exprs_.back());
  return &exprs_.back();
}

}  // namespace lamella
