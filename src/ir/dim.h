// Symbolic sizes. A Dim is an integer or an exact, canonical, interned expression over named
// symbols, so that what simplifies alike is the same pointer. Nothing here guesses: equality has
// three answers.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lamella {

class DimTable;
struct DimExpr;

// Answer to "are these sizes equal?". `unknown` becomes a constraint that is checked when symbols
// are bound.
enum class Equal { yes, no, unknown };

// Inclusive bounds of a size.
struct DimRange {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();
  bool operator==(const DimRange&) const = default;
};

// An integer or a pointer into a DimTable. Cheap to copy; == is identity of the canonical form.
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(int64_t value) : value_(value) {}  // NOLINT: sizes are written as plain integers
  explicit constexpr Dim(const DimExpr& expr) : expr_(&expr) {}

  constexpr bool is_const() const { return expr_ == nullptr; }
  constexpr bool is(int64_t value) const { return is_const() && value_ == value; }
  int64_t value() const;  // InternalError when symbolic
  constexpr const DimExpr* expr() const { return expr_; }
  DimRange range() const;
  int64_t divisor() const;  // a number that always divides the size (0 divides only 0)
  std::string text() const;

  friend constexpr bool operator==(const Dim&, const Dim&) = default;

 private:
  const DimExpr* expr_ = nullptr;
  int64_t value_ = 0;
};

enum class DimKind : uint8_t {
  symbol,
  sum,       // sum of coefficient * product of factors
  floordiv,  // floor(a / b)
  ceildiv,   // ceil(a / b)
  mod,       // a - b * floor(a / b)
  min,
  max,
  broadcast,  // equal or one of them 1
  less,       // 1 when a < b, else 0
  equal,      // 1 when a == b, else 0
  select,     // a != 0 ? b : c
  floor_mul,  // floor(a * factor), in f64
  ceil_mul,   // ceil(a * factor), in f64
};

struct DimTerm {
  int64_t coefficient = 0;
  std::vector<const DimExpr*> factors{};  // sorted by form; empty for the constant term
};

// One interned expression; arguments always have smaller ids than their users.
struct DimExpr {
  DimKind kind;
  uint32_t id = 0;
  DimTable* table = nullptr;
  std::string name{};            // symbol
  uint32_t symbol = 0;           // index among the table's symbols
  std::vector<DimTerm> terms{};  // sum
  std::vector<Dim> args{};
  double factor = 0;  // floor_mul, ceil_mul
  DimRange range{};
  int64_t divisor = 1;
  uint32_t weight = 1;  // number of parts when written out
  uint32_t depth = 1;   // of nesting
};

// Beyond these a size is refused: whatever walks or prints one is then bounded.
inline constexpr uint32_t kMaxDimWeight = 4096;
inline constexpr uint32_t kMaxDimDepth = 64;

// Arithmetic. Overflow of a constant is a UserError.
Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim floordiv(Dim a, Dim b);
Dim ceildiv(Dim a, Dim b);
Dim dim_mod(Dim a, Dim b);
Dim dim_min(Dim a, Dim b);
Dim dim_max(Dim a, Dim b);
Dim dim_less(Dim a, Dim b);
Dim dim_equal(Dim a, Dim b);
Dim dim_select(Dim condition, Dim a, Dim b);
Dim floor_mul(Dim a, double factor);
Dim ceil_mul(Dim a, double factor);
// The size of the broadcast of a and b. UserError when they can never match; where that is not
// known the caller must also record a constraint (TypeCx::broadcast does).
Dim dim_broadcast(Dim a, Dim b);

Equal compare(Dim a, Dim b);
// Could they be equal or one of them be 1?
Equal broadcastable(Dim a, Dim b);

// Values of a table's symbols, by symbol index; nullopt where unbound.
using DimBinding = std::vector<std::optional<int64_t>>;

// The value under a binding; UserError on overflow, division by zero or an unbound symbol (named).
int64_t evaluate(Dim dim, const DimBinding& binding);

// The interner. Shared by a graph and its sub-graphs; append-only; safe to use from several
// threads.
class DimTable {
 public:
  DimTable() = default;
  DimTable(const DimTable&) = delete;
  DimTable& operator=(const DimTable&) = delete;

  // The symbol of that name, made on first use. A range or divisor given later must not contradict
  // the first.
  Dim symbol(std::string_view name, DimRange range = {}, int64_t divisor = 1);
  // A symbol that did not exist before, named `prefix` or `prefix.N`.
  Dim fresh(std::string_view prefix);
  std::optional<Dim> find_symbol(std::string_view name) const;
  // All symbols in order of their index.
  std::vector<const DimExpr*> symbols() const;
  size_t n_symbols() const;

  // Parses the text that Dim::text prints; unknown names become symbols. UserError on bad text.
  Dim parse(std::string_view text);
  // The size that starts at byte `at` of a longer text; moves `at` behind it.
  Dim parse(std::string_view text, size_t& at);

  const DimExpr* intern(DimExpr expr);

 private:
  mutable std::recursive_mutex mutex_;
  std::deque<DimExpr> exprs_;
  std::unordered_map<std::string, const DimExpr*> by_key_;
  std::vector<const DimExpr*> symbols_;
};

// The symbols that sizes depend on, in the order met.
class SymbolsUsed {
 public:
  void add(Dim dim);
  const std::vector<const DimExpr*>& symbols() const { return symbols_; }

 private:
  void add(const DimExpr& expr);
  std::unordered_set<const DimExpr*> seen_;
  std::vector<const DimExpr*> symbols_;
};

// Evaluates a set of dims again and again at a few nanoseconds each: the expressions flattened in
// order.
class DimProgram {
 public:
  // Index of `dim` in the results of run(); each distinct dim is evaluated once.
  size_t add(Dim dim);
  size_t size() const { return results_.size(); }
  // Writes the value of every added dim to `values` (size() of them).
  void run(std::span<const int64_t> symbols, std::span<int64_t> values) const;
  // The symbols that the added dims depend on.
  std::vector<const DimExpr*> used_symbols() const;

 private:
  size_t slot_of(const DimExpr* expr);
  struct Step {
    const DimExpr* expr;
    std::vector<std::pair<int64_t, std::vector<uint32_t>>> terms;  // sum: coefficient, factor slots
    std::vector<std::pair<bool, int64_t>> args;                    // constant?, value or slot
  };
  std::vector<Step> steps_;
  std::unordered_map<const DimExpr*, uint32_t> slots_;
  std::vector<std::pair<bool, int64_t>> results_;  // constant?, value or slot
  std::unordered_map<const DimExpr*, size_t> result_of_expr_;
  std::unordered_map<int64_t, size_t> result_of_const_;
};

}  // namespace lamella
