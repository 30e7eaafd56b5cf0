#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

PassSuite choose_layouts_suite() {
  return {
      .name = "choose_layouts",
      .run = choose_layouts,
      .declarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %batch = input {name="batch", type=f32[2, n, 4]}
  %u = parameter {name="u", type=f32[8, 4]}
  %w = parameter {name="w", type=f32[4, 8]}
  %v = parameter {name="v", type=f32[2, 4, 8]}
  %cube = parameter {name="cube", type=f32[4, 4, 4]}
)",
      .cases = {
          {"stored_the_other_way", "%t = transpose(%w) %r = matmul(%x, %t) return r=%r",
           "%r = matmul(%x, %w) {transpose_w=false} return r=%r"},
          {"and_back", "%t = transpose(%u) %r = matmul(%x, %t) {transpose_w=false} return r=%r",
           "%r = matmul(%x, %u) return r=%r"},
          {"of_a_batch",
           "%t = transpose(%v) {perm=[0, -1, -2]} %r = matmul(%batch, %t) return r=%r",
           "%r = matmul(%batch, %v) {transpose_w=false} return r=%r"},
          {"read_on", "%t = transpose(%w) %r = matmul(%x, %t) return r=%r, t=%t",
           R"(%t = transpose(%w) %r = matmul(%x, %w) {transpose_w=false}
                  return r=%r, t=%t)"},
          {"keeps_attributes", "%t = transpose(%w) %r = matmul(%x, %t) {compute=bf16} return r=%r",
           "%r = matmul(%x, %w) {transpose_w=false, compute=bf16} return r=%r"},
          // What stays.
          {"as_it_lies", "%r = matmul(%x, %u) return r=%r"},
          {"other_axes", "%t = transpose(%cube) {perm=[1, 0, 2]} %r = matmul(%x, %t) return r=%r"},
          {"all_axes", "%t = transpose(%cube) %r = matmul(%x, %t) return r=%r"},
          {"of_the_activation", "%t = transpose(%w) %r = matmul(%t, %u) return r=%r"},
      }};
}

}  // namespace lamella::test
