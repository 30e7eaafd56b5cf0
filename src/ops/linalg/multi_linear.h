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
