#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite eliminate_common_suite() {
  return {.name = "eliminate_common",
          .run = eliminate_common,
          .declarations = R"(
  %x = input {name="x", type=f32[2, 4]}
  %y = input {name="y", type=f32[2, 4]}
  %p = parameter {name="p", type=f32[2, 4]}
  %q = parameter {name="q", type=f32[2, 4]}
  %key = input {name="key", type=i64[2]}
  %s = input {name="s", type=f32[4, 4], role=state}
  %t = input {name="t", type=f32[4, 4], role=state}
  %from = constant {value=i64[1] (0)}
  %to = constant {value=i64[1] (2)}
)",
          .cases = {
              {"a_node", "%a = exp(%x) %b = exp(%x) %r = mul(%a, %b) return r=%r",
               "%a = exp(%x) %r = mul(%a, %a) return r=%r"},
              {"a_chain",
               R"(%a = exp(%x) %b = neg(%a) %c = exp(%x) %d = neg(%c)
                  %r = mul(%b, %d) return r=%r)",
               "%a = exp(%x) %b = neg(%a) %r = mul(%b, %b) return r=%r"},
              {"two_results", "%a = exp(%x) %b = exp(%x) return a=%a, b=%b",
               "%a = exp(%x) return a=%a, b=%a"},
              {"several_outputs",
               R"(%a:2 = split(%x) {sizes=[1, 1]} %b:2 = split(%x) {sizes=[1, 1]}
                  %r = mul(%a.0, %b.1) return r=%r)",
               "%a:2 = split(%x) {sizes=[1, 1]} %r = mul(%a.0, %a.1) return r=%r"},
              {"constants",
               R"(%k = constant {value=f32[] (2)} %l = constant {value=f32[] (2)}
                  %a = mul(%x, %k) %b = mul(%x, %l) %r = sub(%a, %b) return r=%r)",
               R"(%k = constant {value=f32[] (2)} %a = mul(%x, %k) %r = sub(%a, %a)
                  return r=%r)"},
              {"random_of_one_key", R"(%a = normal(%key) {shape=[3]} %b = normal(%key) {shape=[3]}
                                       %r = sub(%a, %b) return r=%r)",
               "%a = normal(%key) {shape=[3]} %r = sub(%a, %a) return r=%r"},
              {"the_first_origin_stays",
               "%a = exp(%x) @\"a\" %b = exp(%x) @\"b\" %r = mul(%a, %b) return r=%r",
               "%a = exp(%x) @\"a\" %r = mul(%a, %a) return r=%r"},
              {"saved",
               "%a:2 = save spare(%x) %b:2 = save spare(%x) "
               "return r=%a.0, s=%b.1",
               "%a:2 = save spare(%x) return r=%a.0, s=%a.1"},
              // What stays.
              {"other_inputs", "%a = exp(%x) %b = exp(%y) %r = mul(%a, %b) return r=%r"},
              {"other_order", "%a = sub(%x, %y) %b = sub(%y, %x) %r = mul(%a, %b) return r=%r"},
              {"other_ops", "%a = exp(%x) %b = exp2(%x) %r = mul(%a, %b) return r=%r"},
              {"other_attributes",
               R"(%a = cumsum(%x) {axis=0} %b = cumsum(%x) {axis=1}
                  %r = mul(%a, %b) return r=%r)"},
              {"other_outputs",
               R"(%a:2 = split(%x) {sizes=[1, 1]} %b = neg(%a.0) %c = neg(%a.1)
                  %r = mul(%b, %c) return r=%r)"},
              {"zeros_of_both_signs",
               R"(%k = constant {value=f32[] (0)} %l = constant {value=f32[] (-0)}
                  %a = mul(%x, %k) %b = mul(%x, %l) return a=%a, b=%b)"},
              {"constants_of_other_types",
               R"(%k = constant {value=i32[] (2)} %l = constant {value=i64[] (2)}
                  return k=%k, l=%l)"},
              {"saved_and_not", "%a = spare(%x) %b:2 = save spare(%x) return a=%a, b=%b.0, c=%b.1"},
              {"parameters", "%a = exp(%p) %b = exp(%q) return a=%a, b=%b"},
              {"random_of_two_keys",
               R"(%i = constant {value=i64[] (1)} %other = fold_in(%key, %i)
                  %a = normal(%key) {shape=[3]} %b = normal(%other) {shape=[3]}
                  %r = sub(%a, %b) return r=%r)"},
              {"ordered", "%a = tap(%x) %b = tap(%x) %r = mul(%a, %b) return r=%r"},
              {"ordered_without_readers", "%a = tap(%x) %b = tap(%x) return r=%x"},
              {"sizes_of_their_own", "%a = non_zero(%x) %b = non_zero(%x) return a=%a, b=%b"},
              {"writers_of_two_states",
               R"(%a = slice_update(%s, %x, %from, %to) %b = slice_update(%t, %x, %from, %to)
                  state s=%s -> %a
                  state t=%t -> %b)"},
          }};
}

}  // namespace lamella::test
