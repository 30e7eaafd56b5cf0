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
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.875, -1.125, -2, 0.75, -2,
      -0.875, 0, 1.5, -1.625, 0.625, 0.125, -1.5, 1.375, 1.375, -0.125, 1.875, 0.5, 1.625, 1.875,
      0.25, -0.875, -1.5, 0.25, -1.25}}, In{.shape = {3, 4}, .dtype = kF32, .values = {1, 1.75, -1,
      0.25, -1.875, -1.375, -0.5, 1.625, 1.875, 0.625, 0.375, 0.25}}, In{.shape = {3}, .dtype =
      kF32, .values = {-1.75, -0.5, 2}}, In{.shape = {2, 3, 3}, .dtype = kF32, .values = {-0.375,
      -1.125, -1.125, 0.875, -1.875, 1.875, 1.5, 0.25, -0.125, 1.125, 0.25, -0.125, -0.75, -0.25, 1,
      -1.875, -2, 0.875}}}, Attrs{.activation = Activation::silu}, {Expect{{2, 3, 3}, {-0.173871478,
      -1.23445587, 3.06522959, 0.838959538, 5.00862244, 1.62966761, 1.33772563, 0.000271611297,
      -0.392774167, 3.57268994, -0.000598971458, 5.71770561, -0.847459586, -0.311906205, 5.67700154,
      -1.89232725, -1.22512996, 0.627415413}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.875, -1.125, -2, 0.75, -2,
      -0.875, 0, 1.5, -1.625, 0.625, 0.125, -1.5, 1.375, 1.375, -0.125, 1.875, 0.5, 1.625, 1.875,
      0.25, -0.875, -1.5, 0.25, -1.25}}, In{.shape = {3, 4}, .dtype = kF32, .values = {1, 1.75, -1,
      0.25, -1.875, -1.375, -0.5, 1.625, 1.875, 0.625, 0.375, 0.25}}, In{.shape = {3}, .dtype =
      kF32, .values = {-1.75, -0.5, 2}}}, Attrs{.activation = Activation::gelu}, {Expect{{2, 3, 3},
      {0.218103479, -0.100323419, 4.24995457, -2.27733858e-06, 6.890625, -0.0524878364,
      -0.00753023708, -0.16920507, -0.159927058, 2.61362732, -0.0585461433, 5.85937499,
      -0.0904361498, -5.53247078e-05, 4.7187444, -1.7887005e-08, 0.892378636, -0.169544572}}});
    s.expect(numpy, {In{.shape = {2, 3, 2}, .dtype = kF32, .values = {-0.5, 1.25, -1.875, 1.625,
      -1.5, -0.375, 1.875, -1.625, 0.625, 1, -0.25, -1.75}}, In{.shape = {2, 2, 3}, .dtype = kF32,
      .values = {0.125, -0.25, 1.5, 0.75, -0.625, -1.875, 0.375, -0.875, 0.75, 1.5, -0.625, 1.625}},
      In::absent(), In{.shape = {2, 3, 3}, .dtype = kF32, .values = {0.125, 0.125, 1.125, 1.25,
      1.75, 2, -1.5, -0.375, 1.75, -0.75, -2, 0.375, 1, 1, 1.25, 0.625, -1.5, 1.375}}},
      Attrs{.activation = Activation::gelu_tanh, .transpose_w = false}, {Expect{{2, 3, 3},
      {0.832952681, -0.0429342091, 1.12231827, 2.0743007, 1.59016168, 2, -1.64983743, 0.0691155681,
      1.65551883, -0.821959247, -2.16627885, 0.240810519, 2.66241575, 0.858437368, 3.30594598,
      0.616565062, -0.311993413, 1.37170945}}});
    s.expect(numpy, {In{.shape = {2, 3, 2}, .dtype = kF32, .values = {-0.5, 1.25, -1.875, 1.625,
      -1.5, -0.375, 1.875, -1.625, 0.625, 1, -0.25, -1.75}}, In{.shape = {2, 2, 3}, .dtype = kF32,
      .values = {0.125, -0.25, 1.5, 0.75, -0.625, -1.875, 0.375, -0.875, 0.75, 1.5, -0.625,
      1.625}}}, Attrs{.activation = Activation::relu, .transpose_w = false}, {Expect{{2, 3, 3},
      {0.875, 0, 0, 0.984375, 0, 0, 0, 0.609375, 0, 0, 0, 0, 1.734375, 0, 2.09375, 0, 1.3125,
      0}}}).grad = false;
    // clang-format on
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
