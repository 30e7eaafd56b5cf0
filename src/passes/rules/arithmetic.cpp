// Rules of arithmetic that hold exactly: in floats, signed zeros and NaN included, and in integers
// that wrap.
#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/sub.h"
#include "lamella/ops/math/where.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {

std::span<const Rule> arithmetic_rules() {
  static const Pattern x = var(0), y = var(1);
  static const std::vector<Rule> list = {
      {"mul_one", call<Mul>({x, filled(1)}), becomes(0)},
      {"div_one", call<Div>({x, filled(1)}), becomes(0)},
      {"sub_zero", call<Sub>({x, filled(0)}), becomes(0)},
      {"neg_neg", call<Neg>({call<Neg>({x})}), becomes(0)},
      {"not_not", call<LogicalNot>({call<LogicalNot>({x})}), becomes(0)},
      {"abs_abs", call<Abs>({call<Abs>({x})}),
       [](Graph&, const Match& m) { return abs(m.vars[0]); }},
      {"abs_neg", call<Abs>({call<Neg>({x})}),
       [](Graph&, const Match& m) {
         const bool wraps = m.vars[0].dtype().is(DTypeKind::uint);
         return wraps ? Value{} : abs(m.vars[0]);
       }},
      {"relu_relu", call<Relu>({call<Relu>({x})}),
       [](Graph&, const Match& m) { return relu(m.vars[0]); }},
      {"min_same", call<Minimum>({x, x}), becomes(0)},
      {"max_same", call<Maximum>({x, x}), becomes(0)},
      {"where_same", call<Where>({y, x, x}), becomes(0)},
  };
  return list;
}

}  // namespace lamella
