#pragma once

#include "lamella/ops/linalg/linear.h"

namespace lamella {

struct MultiLinear {
  static constexpr Info info{
      .name = "multi_linear",
      .inputs = "x, weights...",
      .outputs = "parts...",
      .doc =
          "linear(x, w, bias) for each of several weights, which share x. With has_biases the "
          "second "
          "half of the inputs after x are the biases, in the order of the weights.",
      .ulps = 8,
      .ulps_per_length = 0.5,
      .traits = kTakesEncoded};
  struct Attrs {
    bool has_biases = false;
    bool transpose_w = true;
    Compute compute = Compute::exact;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("has_biases", &Attrs::has_biases), f("transpose_w", &Attrs::transpose_w),
          f("compute", &Attrs::compute);
    }
    Linear::Attrs part() const { return {.transpose_w = transpose_w, .compute = compute}; }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const size_t n = n_parts(cx.n_inputs(), a);
    cx.check(n > 0 && n * (a.has_biases ? 2 : 1) + 1 == cx.n_inputs(),
             "wants x, at least one weight", a.has_biases ? " and as many biases" : "", "; got ",
             cx.n_inputs(), " inputs");
    for (size_t i = 1; i <= n; ++i) {
      const Dim size = Matmul::type_of(cx, 0, i, a.part().product());
      if (!a.has_biases) continue;
      cx.require_float(n + i), cx.require_rank(n + i, 1);
      cx.require_equal(cx.shape(n + i)[0], size, str("sizes of bias and weight ", i - 1));
    }
    cx.check(cx.outputs[0].dtype.is_float(), "is of real numbers; got ", cx.in(0));
  }
  static Dim flops(const Graph& g, const Node& n) {
    Dim sum = 0;
    for (const Type& t : n.outputs) sum = sum + t.shape.numel();
    return sum * g.type(n.inputs[0]).shape.last() * 2;
  }
  static Values expand(const Args& x, const Attrs& a) {
    const size_t n = n_parts(x.size(), a);
    Values parts;
    for (size_t i = 1; i <= n; ++i)
      parts.push_back(linear(x[0], x[i], a.has_biases ? x[n + i] : Value{}, a.part()));
    return parts;
  }
  static void samples(Samples& s) {
    const In x{.shape = {2, 3, 32}}, q{.shape = {6, 32}}, k{.shape = {2, 32}};
    s.add({x, q, k, k}, Attrs{}).length = 32;
    s.add({x, q, k, In{.shape = {6}}, In{.shape = {2}}}, Attrs{.has_biases = true}).length = 32;
    s.add({In{.shape = {5, 256}}, In{.shape = {6, 256}, .dtype = find_dtype("q4_k")},
           In{.shape = {2, 256}, .dtype = find_dtype("q6_k")}},
          Attrs{})
        .length = 256;
    s.add({In{.shape = {0, 3}}, In{.shape = {2, 3}}}, Attrs{});
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-0.375, 1.375, 1.25, 2, -2,
      1.5, 0.5, 0, 1.25, 1.875, 0, -1.75, 0.875, -1.125, -1.125, -1.25, -1.25, 1.75, -0.625, -1.625,
      -1.375, -0.375, -0.625, -0.75}}, In{.shape = {3, 4}, .dtype = kF32, .values = {1.875, 1.5,
      0.25, 2, -0.625, -1.5, -1, -1.75, 1.875, -1.125, -0.25, -1.25}}, In{.shape = {2, 4}, .dtype =
      kF32, .values = {2, -1.375, 0.125, 1.875, 0.125, 1.625, 1.625, 1.125}}, In{.shape = {1, 4},
      .dtype = kF32, .values = {1, 0.375, 0.375, 1.375}}, In{.shape = {3}, .dtype = kF32, .values =
      {-0.25, 1.875, 1.5}}, In{.shape = {2}, .dtype = kF32, .values = {-0.5, -0.375}}, In{.shape =
      {1}, .dtype = kF32, .values = {0.875}}}, Attrs{.has_biases = true}, {Expect{{2, 3, 3},
      {5.421875, -4.703125, -3.5625, -1.625, 0.375, -4.0625, 1.40625, 1.34375, 3.921875, -3.078125,
      6.328125, 6.25, -3.375, 3.5, -0.625, -5.046875, 5.234375, 0.4375}}, Expect{{2, 3, 2},
      {0.765625, 6.09375, -6.5, 2.625, -3.859375, 0.859375, 0.3125, -5.328125, -8.53125, -0.53125,
      -4.21875, -3.015625}}, Expect{{2, 3, 1}, {4.234375, -0.375, 0.421875, -0.8125, -2.1875,
      -1.90625}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-0.375, 1.375, 1.25, 2, -2,
      1.5, 0.5, 0, 1.25, 1.875, 0, -1.75, 0.875, -1.125, -1.125, -1.25, -1.25, 1.75, -0.625, -1.625,
      -1.375, -0.375, -0.625, -0.75}}, In{.shape = {4, 3}, .dtype = kF32, .values = {1.875, -0.625,
      1.875, 1.5, -1.5, -1.125, 0.25, -1, -0.25, 2, -1.75, -1.25}}, In{.shape = {4, 2}, .dtype =
      kF32, .values = {2, 0.125, -1.375, 1.625, 0.125, 1.625, 1.875, 1.125}}, In{.shape = {4, 1},
      .dtype = kF32, .values = {1, 0.375, 0.375, 1.375}}}, Attrs{.transpose_w = false}, {Expect{{2,
      3, 3}, {5.671875, -6.578125, -5.0625, -1.375, -1.5, -5.5625, 1.65625, -0.53125, 2.421875,
      -2.828125, 4.453125, 4.75, -3.125, 1.625, -2.125, -4.796875, 3.359375, -1.0625}}, Expect{{2,
      3, 2}, {1.265625, 6.46875, -6, 3, -3.359375, 1.234375, 0.8125, -4.953125, -8.03125, -0.15625,
      -3.71875, -2.640625}}, Expect{{2, 3, 1}, {3.359375, -1.25, -0.453125, -1.6875, -3.0625,
      -2.78125}}});
    // clang-format on
    // golden:end
    s.bad({x}, Attrs{}, "at least one weight");
    s.bad({x, q, k, In{.shape = {6}}}, Attrs{.has_biases = true}, "as many biases");
    s.bad({x, q, In{.shape = {2}}}, Attrs{.has_biases = true}, "sizes of bias");
    s.bad({x, q, In{.shape = {2, 31}}}, Attrs{}, "inner sizes");
  }

 private:
  static size_t n_parts(size_t n_inputs, const Attrs& a) {
    return n_inputs == 0 ? 0 : (n_inputs - 1) / (a.has_biases ? 2 : 1);
  }
};
inline constexpr Call<MultiLinear> multi_linear;

}  // namespace lamella
