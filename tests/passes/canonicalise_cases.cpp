#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

// The rules alone are in rules_test.cpp; here they meet.
PassSuite canonicalise_suite() {
  return {
      .name = "canonicalise",
      .run = canonicalise,
      .declarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %old = input {name="old", type=f32[n, 4], role=state}
  %one = constant {value=f32[] (1)}
  %zero = constant {value=f32[] (0)}
)",
      .cases = {
          {"several_rules_at_one_node",
           "%a = mul(%x, %one) %b = sub(%a, %zero) %c = neg(%b) %r = neg(%c) return r=%r",
           "return r=%x"},
          {"a_chain_of_one_rule",
           R"(%a = neg(%x) %b = neg(%a) %c = neg(%b) %d = neg(%c) %e = neg(%d)
                  return r=%e)",
           "%e = neg(%x) return r=%e"},
          {"one_rule_opens_another", "%a = transpose(%x) %r = transpose(%a) return r=%r",
           "return r=%x"},
          {"two_sides_become_equal",
           "%a = div(%x, %one) %b = mul(%one, %x) %r = minimum(%a, %b) return r=%r", "return r=%x"},
          {"through_a_rule_that_builds",
           "%a = mul(%x, %one) %b = neg(%a) %c = abs(%b) %r = exp(%c) return r=%r",
           "%c = abs(%x) %r = exp(%c) return r=%r"},
          {"readers_follow", "%a = neg(%x) %b = neg(%a) %c = exp(%b) return a=%a, c=%c",
           "%a = neg(%x) %c = exp(%x) return a=%a, c=%c"},
          {"origin", "%a = neg(%x) @\"a\" %r = abs(%a) @\"b\" return r=%r",
           "%r = abs(%x) @\"b\" return r=%r"},
          {"new_state", "%a = neg(%old) %b = neg(%a) return r=%x state old=%old -> %b",
           "return r=%x state old=%old -> %old"},
          // What stays.
          {"ordered", "%a = neg(%x) %b = tap(%a) %r = neg(%b) return r=%r"},
          {"what_is_for_fuse", "%a = sigmoid(%x) %r = mul(%a, %x) return r=%r"},
          {"nothing_fits", "%a = exp(%x) %r = mul(%a, %x) return r=%r"},
      }};
}

}  // namespace lamella::test
