// Rules of views.
#include "lamella/ops/math/cast.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {
namespace {

// Axis i of the outer result is axis inner[outer[i]] of x.
Value compose_transposes(Graph&, const Match& m) {
  const size_t rank = m.vars[0].type().rank();
  const auto outer = Transpose::order(m.nodes[0]->attrs.as<Transpose::Attrs>(), rank);
  const auto inner = Transpose::order(m.nodes[1]->attrs.as<Transpose::Attrs>(), rank);
  Transpose::Attrs both;
  for (int64_t axis : outer) both.perm.push_back(inner[static_cast<size_t>(axis)]);
  return transpose(m.vars[0], both);
}

Value if_identity(Graph&, const Match& m) {
  const auto order =
      Transpose::order(m.nodes[0]->attrs.as<Transpose::Attrs>(), m.vars[0].type().rank());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return {};
  return m.vars[0];
}

}  // namespace

std::span<const Rule> shape_rules() {
  static const Pattern x = var(0), a = var(1), b = var(2);
  static const std::vector<Rule> list = {
      // A replacement that changes nothing is one whose type is that of its operand.
      {"reshape_same", call<Reshape>({x, a}), becomes(0)},
      {"reshape_reshape", call<Reshape>({call<Reshape>({x, a}), b}),
       [](Graph&, const Match& m) { return reshape(m.vars[0], m.vars[2]); }},
      {"expand_same", call<Expand>({x, a}), becomes(0)},
      {"transpose_identity", call<Transpose>({x}), if_identity},
      {"transpose_transpose", call<Transpose>({call<Transpose>({x})}), compose_transposes},
      {"cast_same", call<Cast>({x}), becomes(0)},
      {"concat_one", call<Concat>({x}),
       [](Graph&, const Match& m) { return m.nodes[0]->inputs.size() == 1 ? m.vars[0] : Value{}; }},
  };
  return list;
}

}  // namespace lamella
