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
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.75, -1.625, -1.75, -1,
      -0.25, -1.375, 0.125, 0.125, 1.875, 1, -1, 1.125, 1.25, 0.75, 0.75, -0.75, 0.875, -1.5, 0.5,
      1.75, 2, -0.875, -0.75, 0.5}}, In{.shape = {3, 4}, .dtype = kF32, .values = {-0.375, 1, -1.25,
      -1.375, -1.875, -0.125, -1.125, -0.875, 1.75, 1.25, 1.375, 0.375}}, In{.shape = {3, 4}, .dtype
      = kF32, .values = {-1.625, 1, 0.375, 1.625, -0.125, -1.375, 0.375, -0.125, 0.625, -0.5, -0.75,
      -1.5}}}, Attrs{}, {Expect{{2, 3, 3}, {-6.76880753, -0.153658211, -1.222546, 0.192799821,
      0.455042378, -0.0609938392, -0, 0.218009716, -0.924616744, -0.493117132, 0.144064427,
      3.6775805, -0.00409019138, -0.190917476, -1.24508414, 0.997241118, -0.0746839747,
      1.93760577}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.75, -1.625, -1.75, -1,
      -0.25, -1.375, 0.125, 0.125, 1.875, 1, -1, 1.125, 1.25, 0.75, 0.75, -0.75, 0.875, -1.5, 0.5,
      1.75, 2, -0.875, -0.75, 0.5}}, In{.shape = {4, 3}, .dtype = kF32, .values = {-0.375, -1.875,
      1.75, 1, -0.125, 1.25, -1.25, -1.125, 1.375, -1.375, -0.875, 0.375}}, In{.shape = {4, 3},
      .dtype = kF32, .values = {-1.625, -0.125, 0.625, 1, -1.375, -0.5, 0.375, 0.375, -0.75, 1.625,
      -0.125, -1.5}}}, Attrs{.activation = Activation::gelu_tanh, .transpose_w = false}, {Expect{{2,
      3, 3}, {-7.78159547, -0.141717576, -0.33127804, 0.0623240027, 0.497394683, -0.0127484217, -0,
      0.00130942002, -0.950319646, -0.537620358, 0.00885942825, 3.75378439, -6.33714042e-08,
      -0.000983216901, -1.43265511, 0.418713013, -0.00101017492, 2.20497092}}});
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In{.shape = {5, 3}}}, Attrs{},
          "rows of w_gate");
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In{.shape = {4, 2}}}, Attrs{}, "inner sizes");
  }
};
inline constexpr Call<GatedMlpUp> gated_mlp_up;

}  // namespace lamella
