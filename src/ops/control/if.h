#pragma once

#include "lamella/ops/control/body.h"

namespace lamella {

struct If {
  static constexpr Info info{.name = "if",
                             .inputs = "condition, captures...",
                             .outputs = "results...",
                             .doc =
                                 "Runs then_graph where the condition (bool, rank 0) holds, else "
                                 "else_graph; only that one runs. Both take the "
                                 "captures and give as many results of the same element types and "
                                 "ranks; sizes may differ.",
                             .ulps = 8,  // of a body's own ops
                             .host = "condition"};
  struct Attrs {
    GraphPtr then_graph = {};
    GraphPtr else_graph = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("then_graph", &Attrs::then_graph), f("else_graph", &Attrs::else_graph);
    }
  };

  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<If> if_;

}  // namespace lamella
