#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite schedule_suite() {
  return {.name = "schedule",
          .run = schedule,
          .declarations = R"(
  %x = input {name="x", type=f32[2, 4]}
  %y = input {name="y", type=f32[1]}
  %s = input {name="s", type=f32[4, 4], role=state}
  %t = input {name="t", type=f32[4, 4], role=state}
  %one = input {name="one", type=f32[1], role=state}
  %from = constant {value=i64[1] (0)}
  %to = constant {value=i64[1] (2)}
  %e = constant {value=i64[1] (1)}
)",
          .cases = {
              {"reader_before_writer",
               "%n = slice_update(%s, %x, %from, %to) %r = exp(%s) return r=%r state s=%s -> %n",
               "%r = exp(%s) %n = slice_update(%s, %x, %from, %to) return r=%r state s=%s -> %n"},
              {"reader_of_a_view",
               R"(%v = transpose(%s) %n = slice_update(%s, %x, %from, %to) %r = exp(%v)
                  return r=%r state s=%s -> %n)",
               R"(%v = transpose(%s) %r = exp(%v) %n = slice_update(%s, %x, %from, %to)
                  return r=%r state s=%s -> %n)"},
              {"with_what_the_reader_needs",
               R"(%n = slice_update(%s, %x, %from, %to) %a = exp(%t) %r = mul(%s, %a)
                  return r=%r state s=%s -> %n)",
               R"(%a = exp(%t) %r = mul(%s, %a) %n = slice_update(%s, %x, %from, %to)
                  return r=%r state s=%s -> %n)"},
              {"reader_that_writes_another_state",
               R"(%v = slice(%s, %from, %to) %m = slice_update(%t, %v, %from, %to)
                  %n = slice_update(%s, %x, %from, %to) %r = exp(%t)
                  return r=%r state s=%s -> %n state t=%t -> %m)",
               R"(%v = slice(%s, %from, %to) %r = exp(%t) %m = slice_update(%t, %v, %from, %to)
                  %n = slice_update(%s, %x, %from, %to)
                  return r=%r state s=%s -> %n state t=%t -> %m)"},
              {"what_is_no_state_too",
               R"(%a = exp(%s) %n = slice_update(%a, %x, %from, %to) %r = neg(%a)
                  return n=%n, r=%r)",
               R"(%a = exp(%s) %r = neg(%a) %n = slice_update(%a, %x, %from, %to)
                  return n=%n, r=%r)"},
              {"ordered_reader_with_those_before_it",
               R"(%n = slice_update(%s, %x, %from, %to) %a = tap(%x) %b = tap(%s)
                  return r=%b state s=%s -> %n)",
               R"(%a = tap(%x) %b = tap(%s) %n = slice_update(%s, %x, %from, %to)
                  return r=%b state s=%s -> %n)"},
              {"makers_of_sizes",
               R"(%n = slice_update(%one, %y, %from, %e) %z = non_zero(%x) new [found]
                  %k = sizes {values=[found]} %r = expand(%one, %k)
                  return r=%r state one=%one -> %n)",
               R"(%z = non_zero(%x) new [found] %k = sizes {values=[found]} %r = expand(%one, %k)
                  %n = slice_update(%one, %y, %from, %e)
                  return r=%r state one=%one -> %n)"},
              // What stays.
              {"readers_in_front",
               R"(%r = exp(%s) %n = slice_update(%s, %x, %from, %to) %a = neg(%n)
                  return r=%r, a=%a state s=%s -> %n)"},
              {"reader_that_needs_the_writer",
               R"(%n = slice_update(%s, %x, %from, %to) %r = sub(%s, %n)
                  return r=%r state s=%s -> %n)"},
              {"ordered_behind_the_writer",
               R"(%n = slice_update(%s, %x, %from, %to) %a = tap(%n) %b = tap(%s)
                  return r=%b state s=%s -> %n)"},
              {"nothing_written", "%a = tap(%x) %b = exp(%x) %c = tap(%b) return a=%a, c=%c"},
          }};
}

}  // namespace lamella::test
