#pragma once

#include "lamella/ops/attention/key_range.h"
#include "lamella/ops/linalg/matmul.h"

namespace lamella {

struct Attention {
  static constexpr Info info{
      .name = "attention",
      .inputs = "q, k, v, bias?, sinks?",
      .outputs = "y",
      .doc =
          "softmax(soft_cap * tanh(q k^T * scale / soft_cap) + bias) v over q [batch, heads, "
          "queries, dk], k [batch, kv_heads, keys, dk], v [batch, kv_heads, keys, dv]; heads of q "
          "in groups share a kv head. Query i is at position p = keys - queries + i. causal: it "
          "sees keys up to p; window: only those less than window away from p. bias broadcasts to "
          "[batch, heads, queries, keys]; of bool it says which keys are seen. A key whose score "
          "is -infinity is not seen, and a query that sees none gives 0. sinks [heads]: a score "
          "more in the softmax, without a value. compute: how the operands of both products are "
          "rounded; those of the second are exponentials of scores, and divided by the sum of the "
          "rounded ones. The values of keys that are not seen must be finite.",
      .ulps = 16,
      .ulps_per_length = 0.5};
  struct Attrs {
    std::optional<double> scale = {};  // 1 / sqrt(dk)
    bool causal = false;
    int64_t window = 0;   // 0: none
    double soft_cap = 0;  // 0: none
    Compute compute = Compute::exact;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("scale", &Attrs::scale), f("causal", &Attrs::causal), f("window", &Attrs::window),
          f("soft_cap", &Attrs::soft_cap), f("compute", &Attrs::compute);
    }
  };

  static void type(TypeCx& cx, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    const Shape &q = g.type(n.inputs[0]).shape, &v = g.type(n.inputs[2]).shape;
    return q[0] * q[1] * q[2] * v[2] * (q[3] + v[3]) * 2;
  }
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Attention> attention;

}  // namespace lamella
