#include "lamella/ops/linalg/matmul.h"
#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {

// Inputs lie on the grid of q8_0, so packing them changes no value. That the pass is skipped where
// exact results are wanted is tested in pipeline_test.cpp.
PassSuite pack_activations_suite() {
  Target t = target_with();
  t.activation_encoding = [](const Graph& g, uint32_t i) {
    const Node& n = g.nodes()[i];
    const bool wants = n.is(op<Matmul>) && g.type(n.inputs[1]).dtype.is_block() &&
                       !g.type(n.inputs[0]).dtype.is_block();
    return wants ? find_dtype("q8_0") : DType{};
  };
  Target rounds = target_with();
  rounds.activation_encoding = [](const Graph& g, uint32_t i) {
    const Node& n = g.nodes()[i];
    const bool wants = n.is(op<Matmul>) && n.attrs.as<Matmul::Attrs>().compute == Compute::exact;
    return wants ? kBF16 : DType{};
  };
  return {
      .name = "pack_activations",
      .run = pack_activations,
      .declarations = R"(
  %x = input {name="grid_x", type=f32[n, 32]}
  %y = input {name="y", type=f32[n, 8]}
  %q = parameter {name="q", type=q8_0[8, 32]}
  %u = parameter {name="grid_u", type=f32[8, 32]}
)",
      .cases = {
          {"inner_product", "%m = matmul(%x, %q) %r = mul(%m, %y) return r=%r",
           "%p = pack(%x) {to=q8_0} %m = matmul(%p, %q) %r = mul(%m, %y) return r=%r", t},
          {"rounded_to_bf16", "%m = matmul(%x, %u) %r = mul(%m, %y) return r=%r",
           "%m = matmul(%x, %u) {compute=bf16} %r = mul(%m, %y) return r=%r", rounds},
          {"where_nothing_is_wanted", "%m = matmul(%x, %u) %r = mul(%m, %y) return r=%r", "", t},
      }};
}

}  // namespace lamella::test
