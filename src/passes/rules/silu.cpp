// A silu written out. This is for fuse, which asks the target first: behind expand_unclaimed the
// rule would undo what that did.
#include "lamella/ops/math/silu.h"

#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {

std::span<const Rule> silu_rules() {
  static const Pattern x = var(0);
  static const std::vector<Rule> list = {
      {"x_sigmoid_x", call<Mul>({x, call<Sigmoid>({x})}),
       [](Graph&, const Match& m) { return silu(m.vars[0]); }},
  };
  return list;
}

}  // namespace lamella
