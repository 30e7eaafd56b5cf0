#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite fold_constants_suite() {
  return {.name = "fold_constants",
          .run = fold_constants,
          .declarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %w = parameter {name="w", type=f32[2, 3]}
  %two = constant {value=f32[2] (2, 3)}
)",
          .tolerance = 1e-6,  // a folded value is rounded once more
          .cases = {
              {"a_node", "%r = neg(%two) return r=%r",
               "%r = constant {value=f32[2] (-2, -3)} return r=%r"},
              {"a_chain", "%a = add(%two, %two) %b = neg(%a) %r = abs(%b) return r=%r",
               "%r = constant {value=f32[2] (4, 6)} return r=%r"},
              {"each_value_once", "%a = neg(%two) %b = abs(%a) return a=%a, b=%b",
               R"(%a = constant {value=f32[2] (-2, -3)} %b = constant {value=f32[2] (2, 3)}
                  return a=%a, b=%b)"},
              {"in_front_of_other_work", R"(%k = constant {value=f32[] (0.5)} %a = neg(%k)
                                            %r = mul(%x, %a) return r=%r)",
               "%a = constant {value=f32[] (-0.5)} %r = mul(%x, %a) return r=%r"},
              {"a_comparison", "%a = neg(%two) %r = less(%a, %two) return r=%r",
               "%r = constant {value=bool[2] (1, 1)} return r=%r"},
              {"several_outputs", "%a:2 = split(%two) {sizes=[1, 1]} return r=%a.1, s=%a.0",
               R"(%s = constant {value=f32[1] (2)} %r = constant {value=f32[1] (3)}
                  return r=%r, s=%s)"},
              {"a_composite", "%r = relu(%two) return r=%r",
               "%r = constant {value=f32[2] (2, 3)} return r=%r"},
              {"sizes_that_bind_later", "%s = shape_of(%x) return s=%s",
               "%s = sizes {values=[n, 4]} return s=%s"},
              {"arithmetic_on_sizes", R"(%s = shape_of(%x) %k = constant {value=i64[2] (1, 2)}
                                         %r = mul(%s, %k) return r=%r)",
               "%r = sizes {values=[n, 8]} return r=%r"},
              {"known_sizes_as_numbers", R"(%s = shape_of(%w) %f = cast(%s) %h = mul(%f, %two)
                                            %r = cast(%h) {to=i64} return r=%r)",
               "%r = constant {value=i64[2] (4, 9)} return r=%r"},
              {"sizes_behind_a_folded_value", R"(%f = cast(%two) {to=i64} %s = shape_of(%x)
                                                 %r = add(%s, %f) return r=%r)",
               "%r = sizes {values=[n+2, 7]} return r=%r"},
              {"origin", "%a = neg(%two) @\"blk.0\" %r = mul(%a, %two) @\"blk.1\" return r=%r",
               "%r = constant {value=f32[2] (-4, -9)} @\"blk.1\" return r=%r"},
              {"indices_are_sizes_too", "%r = iota {length=3} return r=%r",
               "%r = sizes {values=[0, 1, 2]} return r=%r"},
              // What stays.
              {"of_an_input", "%r = neg(%x) return r=%r"},
              {"of_a_parameter", "%r = neg(%w) return r=%r"},
              {"random", R"(%key = constant {value=i64[2] (1, 2)}
                            %r = normal(%key) {shape=[3]} return r=%r)"},
              {"ordered", "%r = tap(%two) return r=%r"},
              {"of_a_size_that_data_decide", "%r = non_zero(%two) return r=%r"},
              {"length_that_data_decide", R"(%z = non_zero(%two) new [found]
                 %s = sizes {values=[n, 4]} %k = sizes {values=[found]}
                 %r = reshape(%s, %k) return z=%z, r=%r)"},
              {"without_inputs", "%r = iota {length=3, to=f32} return r=%r"},
              {"encoded", "%r = pack(%two) {to=q8_0} return r=%r"},
              {"large", "%k = sizes {values=[200, 100, 2]} %r = expand(%two, %k) return r=%r"},
          }};
}

}  // namespace lamella::test
