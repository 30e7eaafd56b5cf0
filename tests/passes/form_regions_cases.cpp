#include "lamella/ops/math/neg.h"
#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite form_regions_suite() {
  PassSuite suite{
      .name = "form_regions",
      .run = form_regions,
      .declarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %y = input {name="y", type=f32[n, 4]}
  %row = input {name="row", type=f32[4]}
  %p = parameter {name="p", type=f32[n, 4]}
  %old = input {name="old", type=f32[n, 4], role=state}
  %half = constant {value=f32[] (0.5)}
)",
      .cases = {
          {"a_chain", "%a = neg(%x) %r = exp(%a) return r=%r",
           R"(%r = elementwise_region(%x) {body=graph region {
                            %x = input {name="x0", type=f32[]} %a = neg(%x) %r = exp(%a)
                            return y=%r }}
                          return r=%r)"},
          {"a_tree", "%a = neg(%x) %b = exp(%y) %r = mul(%a, %b) return r=%r",
           R"(%r = elementwise_region(%x, %y) {body=graph region {
                            %x = input {name="x0", type=f32[]} %y = input {name="x1", type=f32[]}
                            %a = neg(%x) %b = exp(%y) %r = mul(%a, %b) return y=%r }}
                          return r=%r)"},
          {"constants_move_in", "%a = mul(%x, %half) %r = neg(%a) return r=%r",
           R"(%r = elementwise_region(%x) {body=graph region {
                            %x = input {name="x0", type=f32[]} %half = constant {value=f32[] (0.5)}
                            %a = mul(%x, %half) %r = neg(%a) return y=%r }}
                          return r=%r)"},
          {"read_twice_by_one_step", "%a = exp(%x) %r = mul(%a, %a) return r=%r",
           R"(%r = elementwise_region(%x) {body=graph region {
                            %x = input {name="x0", type=f32[]} %a = exp(%x) %r = mul(%a, %a)
                            return y=%r }}
                          return r=%r)"},
          {"other_types_inside", "%a = less(%x, %y) %r = where(%a, %x, %y) return r=%r",
           R"(%r = elementwise_region(%x, %y) {body=graph region {
                            %x = input {name="x0", type=f32[]} %y = input {name="x1", type=f32[]}
                            %a = less(%x, %y) %r = where(%a, %x, %y) return y=%r }}
                          return r=%r)"},
          {"inputs_may_broadcast", "%a = mul(%x, %row) %r = neg(%a) return r=%r",
           R"(%r = elementwise_region(%x, %row) {body=graph region {
                            %x = input {name="x0", type=f32[]} %y = input {name="x1", type=f32[]}
                            %a = mul(%x, %y) %r = neg(%a) return y=%r }}
                          return r=%r)"},
          {"cut_at_a_result",
           "%a = neg(%x) %b = exp(%a) %c = neg(%b) %r = abs(%c) return b=%b, r=%r",
           R"(%b = elementwise_region(%x) {body=graph region {
                            %x = input {name="x0", type=f32[]} %a = neg(%x) %r = exp(%a)
                            return y=%r }}
                          %r = elementwise_region(%b) {body=graph region {
                            %x = input {name="x0", type=f32[]} %a = neg(%x) %r = abs(%a)
                            return y=%r }}
                          return b=%b, r=%r)"},
          // What stays.
          {"a_single_node", "%r = exp(%x) return r=%r"},
          {"read_by_two", "%a = exp(%x) %b = neg(%a) %c = abs(%a) return b=%b, c=%c"},
          {"inner_is_result", "%a = neg(%x) %r = exp(%a) return a=%a, r=%r"},
          {"inner_is_new_state", "%a = neg(%old) %r = exp(%a) return r=%r state old=%old -> %a"},
          {"of_another_shape", "%a = exp(%row) %r = mul(%x, %a) return r=%r"},
          {"what_can_be_done_once", "%a = exp(%p) %r = mul(%x, %a) return r=%r"},
          {"across_other_work", "%a = exp(%x) %b = cumsum(%a) %r = neg(%b) return r=%r"},
          {"ordered", "%a = exp(%x) %b = tap(%a) %r = neg(%b) return r=%r"},
      }};
  for (PassCase& test : suite.cases) test.target = target_with_regions();
  Target no_neg = target_with_regions();
  no_neg.fits_region = [fits = no_neg.fits_region](const Graph& g, uint32_t i) {
    return fits(g, i) && !g.nodes()[i].is(op<Neg>);
  };
  suite.cases.push_back({"what_the_target_does_not_take",
                         "%a = neg(%x) %b = exp(%a) %r = neg(%b) return r=%r", "", no_neg});
  return suite;
}

}  // namespace lamella::test
