#include "lamella/ops/nn/rms_norm.h"
#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite expand_unclaimed_suite() {
  const Target norm = target_with({&op<RmsNorm>});
  Target norm_in_f32 = norm;
  norm_in_f32.claims = [](const Graph& g, uint32_t i) {
    const Node& n = g.nodes()[i];
    return n.is(op<RmsNorm>) && g.type(n.inputs[0]).dtype == kF32;
  };
  return {.name = "expand_unclaimed",
          .run = expand_unclaimed,
          .declarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %y = input {name="y", type=f32[n, 4]}
  %h = input {name="h", type=f16[n, 4]}
  %u = parameter {name="u", type=f32[8, 4]}
  %b = parameter {name="b", type=f32[8]}
)",
          .cases = {
              {"a_composite", "%r = silu(%x) return r=%r",
               "%a = sigmoid(%x) %r = mul(%x, %a) return r=%r"},
              {"in_the_middle", "%a = exp(%x) %d = silu(%a) %r = neg(%d) return r=%r",
               R"(%a = exp(%x) %c = sigmoid(%a) %d = mul(%a, %c) %r = neg(%d)
                  return r=%r)"},
              {"outermost_first_down_to_what_is_claimed",
               "%s:2 = add_rms_norm(%x, %y) return s=%s.0, n=%s.1",
               "%s = add(%x, %y) %n = rms_norm(%s) return s=%s, n=%n", norm},
              {"down_to_primitives", "%r = linear(%x, %u, %b) {activation=silu} return r=%r",
               R"(%m = matmul(%x, %u) %a = add(%m, %b) %c = sigmoid(%a) %r = mul(%a, %c)
                  return r=%r)"},
              {"origin", "%r = silu(%x) @\"blk.0\" return r=%r",
               "%a = sigmoid(%x) @\"blk.0\" %r = mul(%x, %a) @\"blk.0\" return r=%r"},
              {"sixteen_bits_where_a_row_takes_f32", "%r = rms_norm(%h) return r=%r",
               R"(%a = cast(%h) {to=f32} %c = rms_norm(%a) %r = cast(%c) {to=f16}
                  return r=%r)",
               norm_in_f32},
              // What stays.
              {"claimed", "%r = rms_norm(%x) return r=%r", "", norm},
              {"primitives", "%a = exp(%x) %r = matmul(%a, %u) return r=%r"},
              {"ordered", "%a = tap(%x) %c = tap(%x) return r=%c"},
              {"beside_a_claimed_one", "%a = rms_norm(%x) %r = silu(%a) return r=%r",
               "%a = rms_norm(%x) %c = sigmoid(%a) %r = mul(%a, %c) return r=%r", norm},
          }};
}

}  // namespace lamella::test
