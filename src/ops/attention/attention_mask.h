#pragma once

#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct AttentionMask {
  static constexpr Info info{.name = "attention_mask",
                             .inputs = "",
                             .outputs = "y",
                             .doc =
                                 "Which keys a query sees, bool[queries, keys], with query i at p "
                                 "= keys - queries + i. causal: keys up to p; window: those less "
                                 "than window away from p; prefix: the first keys in any case.",
                             .traits = kNoGrad};
  struct Attrs {
    Dim queries = 0, keys = 0;
    bool causal = true;
    int64_t window = 0;  // 0: none
    int64_t prefix = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("queries", &Attrs::queries), f("keys", &Attrs::keys), f("causal", &Attrs::causal),
          f("window", &Attrs::window), f("prefix", &Attrs::prefix);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    for (Dim d : {a.queries, a.keys}) cx.require_at_least(d, 0, "negative size");
    cx.check(a.window >= 0 && a.prefix >= 0, "negative window or prefix; got ", a.window, " and ",
             a.prefix);
    cx.out(kBool, {a.queries, a.keys});
  }
  static Value expand(const Args& args, const Attrs& a) {
    Graph& g = args.graph();
    const Value first = reshape_to(g.sizes({a.keys - a.queries}), Shape{});
    const Value p = reshape_to(iota_of(g, a.queries), {a.queries, 1}) + first;
    const Value key = reshape_to(iota_of(g, a.keys), {1, a.keys});
    const double window = static_cast<double>(std::min(a.window, int64_t{1} << 40));  // of i64
    const double prefix = static_cast<double>(std::min(a.prefix, int64_t{1} << 40));
    const Value end = reshape_to(g.sizes({a.keys}), Shape{});
    Value seen = less(key, a.causal ? p + 1.0 : p * 0.0 + end);
    if (a.window > 0)
      seen = logical_and(seen, logical_and(greater(key, p - window), less(key, p + window)));
    return a.prefix > 0 ? logical_or(seen, less(key, scalar_like(key, prefix))) : seen;
  }
  static void samples(Samples& s) {
    s.add({}, Attrs{5, 7});
    s.add({}, Attrs{7, 5, true, 3});
    s.add({}, Attrs{4, 9, false, 2, 1});
    s.add({}, Attrs{3, 4, false});
    s.add({}, Attrs{0, 4});
    s.bad({}, Attrs{-1, 2}, "negative size");
    s.bad({}, Attrs{2, 2, true, -1}, "negative window");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {}, Attrs{.queries = 4, .keys = 6, .causal = true, .window = 0, .prefix = 0},
      {Expect{{4, 6}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}}});
    s.expect(source, {}, Attrs{.queries = 4, .keys = 6, .causal = true, .window = 2, .prefix = 1},
      {Expect{{4, 6}, {1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1}}});
    s.expect(source, {}, Attrs{.queries = 5, .keys = 5, .causal = false, .window = 2, .prefix = 0},
      {Expect{{5, 5}, {1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1,
      1}}});
    s.expect(source, {}, Attrs{.queries = 6, .keys = 4, .causal = true, .window = 3, .prefix = 2},
      {Expect{{6, 4}, {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<AttentionMask> attention_mask;

}  // namespace lamella
