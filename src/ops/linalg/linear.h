#pragma once

#include "lamella/ops/linalg/activation.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Linear {
  static constexpr Info info{
      .name = "linear",
      .inputs = "x, w, bias?, residual?",
      .outputs = "y",
      .doc =
          "activation(matmul(x, w) + bias) + residual: a matrix product with its epilogue. bias is "
          "[n]; residual has the shape of y.",
      .ulps = 8,
      .ulps_per_length = 0.5,
      .traits = kTakesEncoded};
  struct Attrs {
    Activation activation = Activation::none;
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
    Matmul::type(cx, a.product());
    const Type& y = cx.outputs[0];
    cx.check(y.dtype.is_float(), "is of real numbers; got ", cx.in(0));
    if (cx.has(2)) {
      cx.require_float(2), cx.require_rank(2, 1);
      cx.require_equal(cx.shape(2)[0], y.shape.last(), "sizes of bias and y");
    }
    if (!cx.has(3)) return;
    cx.check(cx.in(3).is_tensor() && cx.in(3).dtype == y.dtype && cx.in(3).rank() == y.rank(),
             "residual differs from y; got ", cx.in(3), "; want ", y);
    for (size_t i = 0; i < y.rank(); ++i)
      cx.require_equal(cx.shape(3).dims[i], y.shape.dims[i], "sizes of residual and y");
  }
  static Dim flops(const Graph& g, const Node& n) { return Matmul::flops(g, n); }

  static Value expand(const Args& x, const Attrs& a) {
    const Value y = activate(before_activation(x[0], x[1], x[2], a), a.activation);
    return x.has(3) ? y + x[3] : y;
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = cx.in(0), w = cx.in(1), bias = cx.has(2) ? cx.in(2) : Value{};
    Value g = cx.grad();
    if (cx.has(3)) cx.set(3, g);
    if (a.activation != Activation::none)
      g = g * activation_slope(before_activation(x, w, bias, a), a.activation);
    cx.set(0, matmul_grad_x(g, x, w, a.product()));
    cx.set(1, matmul_grad_w(g, x, w, a.product()));
    if (cx.has(2)) cx.set(2, bias.dtype() == g.dtype() ? g : cast(g, {.to = bias.dtype()}));
  }
  static void samples(Samples& s) {
    for (Activation f : {Activation::none, Activation::silu, Activation::gelu,
                         Activation::gelu_tanh, Activation::relu})
      s.add({In{.shape = {2, 3, 7}}, In{.shape = {5, 7}}, In{.shape = {5}}, In{.shape = {2, 3, 5}}},
            Attrs{.activation = f})
          .length = 7;
    s.add({In{.shape = {3, 256}}, In{.shape = {5, 256}, .dtype = find_dtype("q4_k")}, In::absent(),
           In{.shape = {3, 5}}},
          Attrs{})
        .length = 256;
    s.add({In{.shape = {2, 3, 7}}, In{.shape = {2, 7, 4}}, In{.shape = {4}, .dtype = kF32}},
          Attrs{.activation = Activation::silu, .transpose_w = false})
        .length = 7;
    s.add({In{.shape = {0, 7}}, In{.shape = {5, 7}}, In{.shape = {5}}}, Attrs{});
    s.add({In{.shape = {7}}, In{.shape = {5, 7}}, In{.shape = {5}}}, Attrs{}).length = 7;
    // golden:begin
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 5}}}, Attrs{}, "inner sizes");
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In{.shape = {3}}}, Attrs{}, "sizes of bias");
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In::absent(), In{.shape = {1, 4}}}, Attrs{},
          "sizes of residual");
    s.bad({In{.shape = {2, 3}}, In{.shape = {4, 3}}, In::absent(), In{.shape = {4}}}, Attrs{},
          "residual differs");
  }

 private:
  static Value before_activation(Value x, Value w, Value bias, const Attrs& a) {
    const Value y = matmul(x, w, a.product());
    if (bias.absent()) return y;
    return y + (bias.dtype() == y.dtype() ? bias : cast(bias, {.to = y.dtype()}));
  }
};
inline constexpr Call<Linear> linear;

}  // namespace lamella
