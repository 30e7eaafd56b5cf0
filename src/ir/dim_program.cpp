// Values of sizes under a binding: one at a time, or a set of them again and again.
#include <algorithm>
#include <cmath>

#include "lamella/base/error.h"
#include "lamella/ir/dim.h"
#include "lamella/ir/dim_math.h"

namespace lamella {

using dim_math::checked_add;
using dim_math::checked_mul;

namespace dim_math {

int64_t apply(DimKind kind, const int64_t* a, double factor) {
  switch (kind) {
    case DimKind::floordiv:
    case DimKind::ceildiv:
    case DimKind::mod: {
      CHECK_USER(a[1] != 0, "size: division by zero; got ", a[0], " over 0");
      CHECK_USER(!(a[0] == kMin && a[1] == -1), "size: division overflows 64 bits");
      if (kind == DimKind::floordiv) return floor_div(a[0], a[1]);
      if (kind == DimKind::ceildiv) return ceil_div(a[0], a[1]);
      return floor_mod(a[0], a[1]);
    }
    case DimKind::min:
      return std::min(a[0], a[1]);
    case DimKind::max:
      return std::max(a[0], a[1]);
    case DimKind::broadcast:
      CHECK_USER(a[0] == a[1] || a[0] == 1 || a[1] == 1, "size: ", a[0], " and ", a[1],
                 " do not broadcast; want equal sizes or one of them 1");
      return a[0] == 1 ? a[1] : a[0];
    case DimKind::less:
      return a[0] < a[1];
    case DimKind::equal:
      return a[0] == a[1];
    case DimKind::select:
      return a[0] != 0 ? a[1] : a[2];
    case DimKind::floor_mul:
    case DimKind::ceil_mul: {
      const double x = static_cast<double>(a[0]) * factor;
      const double r = kind == DimKind::floor_mul ? std::floor(x) : std::ceil(x);
      CHECK_USER(r >= -9.2e18 && r <= 9.2e18, "size: ", a[0], " * ", factor, " overflows 64 bits");
      return static_cast<int64_t>(r);
    }
    case DimKind::symbol:
    case DimKind::sum:
      break;
  }
  throw InternalError("size: a symbol or sum has no direct value");
}

}  // namespace dim_math

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
  return dim_math::apply(e.kind, a, e.factor);
}

// --- SymbolsUsed

void SymbolsUsed::add(Dim dim) {
  if (!dim.is_const()) add(*dim.expr());
}

void SymbolsUsed::add(const DimExpr& expr) {
  if (!seen_.insert(&expr).second) return;
  if (expr.kind == DimKind::symbol) symbols_.push_back(&expr);
  for (const DimTerm& t : expr.terms)
    for (const DimExpr* f : t.factors) add(*f);
  for (Dim d : expr.args) add(d);
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
    if (d.is_const())
      step.args.emplace_back(true, d.value());
    else
      step.args.emplace_back(false, static_cast<int64_t>(slot_of(d.expr())));
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
      slot[i] = dim_math::apply(s.expr->kind, a, s.expr->factor);
    }
  }
  for (size_t i = 0; i < results_.size(); ++i)
    values[i] =
        results_[i].first ? results_[i].second : slot[static_cast<size_t>(results_[i].second)];
}

std::vector<const DimExpr*> DimProgram::used_symbols() const {
  std::vector<const DimExpr*> used;
  for (const Step& s : steps_)
    if (s.expr->kind == DimKind::symbol) used.push_back(s.expr);
  return used;
}

}  // namespace lamella
