#include "lamella/ops/linalg/gated_mlp_up.h"
#include "lamella/ops/linalg/linear.h"
#include "lamella/ops/linalg/multi_linear.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {
namespace {

const Target kNone = target_with();

// Products of one x: eight to a group.
PassCase many_products() {
  std::string before, after = "%g:8 = multi_linear(%x", results = "return ";
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    const std::string w = "%w" + n;
    const std::string declared = w + " = parameter {name=\"w" + n + "\", type=f32[4, 32]}\n";
    before = declared + before + "%p" + n + " = matmul(%x, " + w + ")\n";
    results += (i ? ", r" : "r") + n + "=%p" + n;
    if (i < 8) after += ", " + w;
  }
  std::string parts;
  for (int i = 0; i < 8; ++i)
    parts += (i ? ", r" : "r") + std::to_string(i) + "=%g." + std::to_string(i);
  const std::string declarations = before.substr(0, before.find("%p0"));
  return {.name = "group_of_more_than_eight",
          .before = before + results,
          .after = declarations + after + ")\n%p8 = matmul(%x, %w8)\nreturn " + parts + ", r8=%p8",
          .target = target_with({&op<MultiLinear>})};
}

std::vector<PassCase> silu_cases() {
  const Target t = target_with({&op<Silu>});
  return {
      {"of_its_formula", "%a = sigmoid(%x) %r = mul(%x, %a) return r=%r",
       "%r = silu(%x) return r=%r", t},
      {"of_its_formula_without_a_row", "%a = sigmoid(%x) %r = mul(%x, %a) return r=%r", "", kNone},
  };
}

std::vector<PassCase> bias_cases() {
  const Target t = target_with({&op<Linear>});
  return {
      {"bias", "%m = matmul(%x, %u) %r = add(%m, %b) return r=%r",
       "%r = linear(%x, %u, %b) return r=%r", t},
      {"bias_left", "%m = matmul(%x, %u) %r = add(%b, %m) return r=%r",
       "%r = linear(%x, %u, %b) return r=%r", t},
      {"bias_of_an_encoded_weight", "%m = matmul(%x, %wq) %r = add(%m, %b) return r=%r",
       "%r = linear(%x, %wq, %b) return r=%r", t},
      {"bias_keeps_attributes",
       R"(%m = matmul(%x, %wk) {transpose_w=false, compute=bf16} %r = add(%m, %b)
          return r=%r)",
       "%r = linear(%x, %wk, %b) {transpose_w=false, compute=bf16} return r=%r", t},
      {"bias_without_a_row", "%m = matmul(%x, %u) %r = add(%m, %b) return r=%r", "", kNone},
      {"bias_product_is_result", "%m = matmul(%x, %u) %r = add(%m, %b) return m=%m, r=%r", "", t},
      {"bias_product_is_new_state",
       "%m = matmul(%x, %u) %r = add(%m, %b) return r=%r state old=%old -> %m", "", t},
      {"bias_product_read_twice",
       "%m = matmul(%x, %u) %a = add(%m, %b) %r = mul(%a, %m) return r=%r", "", t},
      {"bias_of_one_element", "%m = matmul(%x, %u) %r = add(%m, %b1) return r=%r", "", t},
      {"bias_of_integers", "%m = matmul(%ix, %iw) %r = add(%m, %ib) return r=%r", "", t},
  };
}

std::vector<PassCase> activation_cases() {
  const Target t = target_with({&op<Linear>});
  return {
      {"silu", "%m = matmul(%x, %u) %r = silu(%m) return r=%r",
       "%r = linear(%x, %u, _) {activation=silu} return r=%r", t},
      {"relu_of_bias", "%m = matmul(%x, %u) %a = add(%m, %b) %r = relu(%a) return r=%r",
       "%r = linear(%x, %u, %b) {activation=relu} return r=%r", t},
      {"gelu", "%m = matmul(%x, %u) %r = gelu(%m) return r=%r",
       "%r = linear(%x, %u, _) {activation=gelu} return r=%r", t},
      {"gelu_tanh", "%m = matmul(%x, %u) %r = gelu(%m) {approximate=tanh} return r=%r",
       "%r = linear(%x, %u, _) {activation=gelu_tanh} return r=%r", t},
      {"silu_product_is_result", "%m = matmul(%x, %u) %r = silu(%m) return m=%m, r=%r", "", t},
      {"silu_behind_relu", "%m = matmul(%x, %u) %a = relu(%m) %r = silu(%a) return r=%r",
       "%a = linear(%x, %u, _) {activation=relu} %r = silu(%a) return r=%r", t},
      {"no_such_activation", "%m = matmul(%x, %u) %r = tanh(%m) return r=%r", "", t},
      {"residual", "%m = matmul(%x, %u) %r = add(%m, %res) return r=%r",
       "%r = linear(%x, %u, _, %res) return r=%r", t},
      {"residual_of_all",
       R"(%m = matmul(%x, %u) %a = add(%m, %b) %c = silu(%a) %r = add(%res, %c)
          return r=%r)",
       "%r = linear(%x, %u, %b, %res) {activation=silu} return r=%r", t},
      {"residual_twice", "%m = matmul(%x, %u) %a = add(%m, %res) %r = add(%a, %res) return r=%r",
       "%a = linear(%x, %u, _, %res) %r = add(%a, %res) return r=%r", t},
      {"residual_of_two_products",
       "%m = matmul(%x, %u) %o = matmul(%x, %v) %r = add(%m, %o) return r=%r",
       "%o = matmul(%x, %v) %r = linear(%x, %u, _, %o) return r=%r", t},
      {"residual_that_broadcasts", "%m = matmul(%x, %u) %r = add(%m, %one_row) return r=%r", "", t},
      {"residual_product_is_result", "%m = matmul(%x, %u) %r = add(%m, %res) return m=%m, r=%r", "",
       t},
  };
}

std::vector<PassCase> gated_cases() {
  const Target t = target_with({&op<GatedMlpUp>});
  return {
      {"gated",
       "%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x, %v) %r = mul(%a, %m) return r=%r",
       "%r = gated_mlp_up(%x, %u, %v) return r=%r", t},
      {"gated_left",
       "%m = matmul(%x, %v) %g = matmul(%x, %u) %a = gelu(%g) %r = mul(%m, %a) return r=%r",
       "%r = gated_mlp_up(%x, %u, %v) {activation=gelu} return r=%r", t},
      {"gated_of_two_inputs",
       R"(%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x2, %v) %r = mul(%a, %m)
          return r=%r)",
       "", t},
      {"gated_of_two_orders",
       R"(%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x, %wk) {transpose_w=false}
          %r = mul(%a, %m) return r=%r)",
       "", t},
      {"gated_gate_is_result",
       R"(%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x, %v) %r = mul(%a, %m)
          return g=%g, r=%r)",
       "", t},
      {"gated_activation_is_result",
       R"(%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x, %v) %r = mul(%a, %m)
          return a=%a, r=%r)",
       "", t},
      {"gated_up_read_twice",
       R"(%g = matmul(%x, %u) %a = silu(%g) %m = matmul(%x, %v) %c = mul(%a, %m)
          %r = add(%c, %m) return r=%r)",
       "", t},
      {"gated_by_nothing", "%g = matmul(%x, %u) %m = matmul(%x, %v) %r = mul(%g, %m) return r=%r",
       "", t},
  };
}

std::vector<PassCase> group_cases() {
  const Target t = target_with({&op<MultiLinear>});
  const Target both = target_with({&op<Linear>, &op<MultiLinear>});
  Target two_encodings = t;
  two_encodings.activation_encoding = [](const Graph& g, uint32_t i) {
    return g.type(g.nodes()[i].inputs[1]).dtype.is_block() ? find_dtype("q8_0") : DType{};
  };
  return {
      {"group",
       R"(%q = matmul(%x, %u) %k = matmul(%x, %v) %o = matmul(%x, %narrow)
                  return q=%q, k=%k, o=%o)",
       "%g:3 = multi_linear(%x, %u, %v, %narrow) return q=%g.0, k=%g.1, o=%g.2", t},
      {"group_with_biases",
       R"(%a = matmul(%x, %u) %q = add(%a, %b) %c = matmul(%x, %v) %k = add(%c, %b)
          return q=%q, k=%k)",
       "%g:2 = multi_linear(%x, %u, %v, %b, %b) {has_biases=true} return q=%g.0, k=%g.1", both},
      {"group_where_some_have_biases",
       R"(%a = matmul(%x, %u) %q = add(%a, %b) %k = matmul(%x, %v)
          %c = matmul(%x, %w) %o = add(%c, %b) return q=%q, k=%k, o=%o)",
       R"(%g:2 = multi_linear(%x, %u, %w, %b, %b) {has_biases=true} %k = matmul(%x, %v)
          return q=%g.0, k=%k, o=%g.1)",
       both},
      {"group_of_one", "%q = matmul(%x, %u) return q=%q", "", t},
      {"group_of_two_inputs", "%q = matmul(%x, %u) %k = matmul(%x2, %v) return q=%q, k=%k", "", t},
      {"group_of_two_orders",
       "%q = matmul(%x, %u) %k = matmul(%x, %wk) {transpose_w=false} return q=%q, k=%k", "", t},
      {"group_of_a_computed_weight",
       "%q = matmul(%x, %u) %e = exp(%v) %k = matmul(%x, %e) return q=%q, k=%k", "", t},
      {"group_of_two_activation_encodings",
       "%q = matmul(%x, %u) %k = matmul(%x, %wq) return q=%q, k=%k", "", two_encodings},
      many_products(),
  };
}

std::vector<PassCase> norm_cases() {
  const Target t = target_with({&op<AddRmsNorm>});
  return {
      {"norm", "%a = add(%x, %x2) %n = rms_norm(%a, %gain) return a=%a, n=%n",
       "%s:2 = add_rms_norm(%x, %x2, %gain) return a=%s.0, n=%s.1", t},
      {"norm_without_weight", "%a = add(%x, %x2) %n = rms_norm(%a) {eps=0.5} return n=%n",
       "%s:2 = add_rms_norm(%x, %x2, _) {eps=0.5} return n=%s.1", t},
      {"norm_twice",
       R"(%a = add(%x, %x2) %n = rms_norm(%a, %gain) %m = rms_norm(%a) return n=%n,
          m=%m)",
       "%s:2 = add_rms_norm(%x, %x2, %gain) %m = rms_norm(%s.0) return n=%s.1, m=%m", t},
      {"norm_of_a_sum_that_broadcasts", "%a = add(%x, %gain) %n = rms_norm(%a) return n=%n", "", t},
      {"norm_of_a_computed_weight",
       "%a = add(%x, %x2) %e = exp(%gain) %n = rms_norm(%a, %e) return n=%n", "", t},
      {"norm_without_a_row", "%a = add(%x, %x2) %n = rms_norm(%a, %gain) return a=%a, n=%n", "",
       kNone},
  };
}

}  // namespace

PassSuite fuse_suite() {
  PassSuite suite{.name = "fuse",
                  .run = fuse,
                  .declarations = R"(
  %x = input {name="x", type=f32[n, 32]}
  %x2 = input {name="x2", type=f32[n, 32]}
  %res = input {name="res", type=f32[n, 8]}
  %one_row = input {name="one_row", type=f32[1, 8]}
  %old = input {name="old", type=f32[n, 8], role=state}
  %u = parameter {name="u", type=f32[8, 32]}
  %v = parameter {name="v", type=f32[8, 32]}
  %w = parameter {name="w", type=f32[8, 32]}
  %wk = parameter {name="wk", type=f32[32, 8]}
  %wq = parameter {name="wq", type=q8_0[8, 32]}
  %narrow = parameter {name="narrow", type=f32[2, 32]}
  %b = parameter {name="b", type=f32[8]}
  %b1 = parameter {name="b1", type=f32[1]}
  %gain = parameter {name="gain", type=f32[32]}
  %ix = input {name="ix", type=i32[n, 32]}
  %iw = parameter {name="iw", type=i32[8, 32]}
  %ib = parameter {name="ib", type=i32[8]}
)",
                  .cases = {}};
  for (const auto& part :
       {silu_cases(), bias_cases(), activation_cases(), gated_cases(), group_cases(), norm_cases()})
    suite.cases.insert(suite.cases.end(), part.begin(), part.end());
  return suite;
}

}  // namespace lamella::test
