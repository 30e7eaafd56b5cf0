#pragma once

#include "lamella/ops/linalg/activation.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct GatedMlpUp {
  static constexpr Info info{
      .name = "gated_mlp_up",
      .inputs = "x, w_gate, w_up",
      .outputs = "y",
      .doc =
          "activation(matmul(x, w_gate)) * matmul(x, w_up): the first half of a gated MLP (SwiGLU "
          "with silu, GeGLU with gelu).",
      .ulps = 16,
      .ulps_per_length = 1,
      .traits = kTakesEncoded};
  struct Attrs {
    Activation activation = Activation::silu;
    bool transpose_w = true;
    Compute compute = Compute::exact;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("activation", &Attrs::activation), f("transpose_w", &Attrs::transpose_w),
          f("compute", &Attrs::compute);
    }
    Matmul::Attrs product() const { return {.transpose_w = transpose_w, .compute = compute}; }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const Dim gate = Matmul::type_of(cx, 0, 1, a.product());
    const Dim up = Matmul::type_of(cx, 0, 2, a.product());
    cx.require_equal(gate, up, "rows of w_gate and w_up");
    const Type of_gate = cx.outputs[0], of_up = cx.outputs[1];
    cx.check(of_gate.dtype.is_float(), "is of real numbers; got ", cx.in(0));
    cx.outputs.clear();
    cx.out(of_gate.dtype, cx.broadcast(of_gate.shape, of_up.shape));
  }
  static Dim flops(const Graph& g, const Node& n) { return Matmul::flops(g, n) * 2; }

  static Value expand(const Args& x, const Attrs& a) {
    return activate(matmul(x[0], x[1], a.product()), a.activation) *
           matmul(x[0], x[2], a.product());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = cx.in(0), w_gate = cx.in(1), w_up = cx.in(2), g = cx.grad();
    const Value gate = matmul(x, w_gate, a.product()), up = matmul(x, w_up, a.product());
    const Value g_gate = g * up * activation_slope(gate, a.activation);
    const Value g_up = g * activate(gate, a.activation);
    cx.set(0, matmul_grad_x(g_gate, x, w_gate, a.product()) +
                  matmul_grad_x(g_up, x, w_up, a.product()));
    cx.set(1, matmul_grad_w(g_gate, x, w_gate, a.product()));
    cx.set(2, matmul_grad_w(g_up, x, w_up, a.product()));
  }
  static void samples(Samples& s) {
    for (Activation f :
         {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu})
      s.add({In{.shape = {2, 3, 7}}, In{.shape = {5, 7}}, In{.shape = {5, 7}}},
            Attrs{.activation = f})
          .length = 7;
    s.add({In{.shape = {3, 256}}, In{.shape = {5, 256}, .dtype = find_dtype("q4_k")},
           In{.shape = {5, 256}, .dtype = find_dtype("q6_k")}},
          Attrs{})
        .length = 256;
    s.add({In{.shape = {2, 3, 7}}, In{.shape = {2, 7, 5}}, In{.shape = {2, 7, 5}}},
          Attrs{.transpose_w = false})
        .length = 7;
    s.add({In{.shape = {0, 7}}, In{.shape = {5, 7}}, In{.shape = {5, 7}}}, Attrs{});
    // golden:begin
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In{.shape = {5, 3}}}, Attrs{},
          "rows of w_gate");
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In{.shape = {4, 2}}}, Attrs{}, "inner sizes");
  }
};
inline constexpr Call<GatedMlpUp> gated_mlp_up;

}  // namespace lamella
