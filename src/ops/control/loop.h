#pragma once

#include "lamella/ops/control/body.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

struct Loop {
  static constexpr Info info{.name = "loop",
                             .inputs = "trip_count?, condition?, values...",
                             .outputs = "results...",
                             .doc =
                                 "Runs body at most trip_count times (i64, rank 0; without one, "
                                 "for ever), before each of them while the "
                                 "condition (bool, rank 0) holds. The values are n_carried carried "
                                 "ones, then captures. body(iteration, "
                                 "carried..., captures...) gives condition, carried..., "
                                 "stacked...; the results are the last carried values, "
                                 "then each stacked output along a new first axis, one entry an "
                                 "iteration. A carried size that changes is a "
                                 "symbol of its own in body; a loop with one has no gradient.",
                             .ulps = 8,  // of a body's own ops
                             .host = "trip_count, condition"};
  struct Attrs {
    GraphPtr body = {};
    int64_t n_carried = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("body", &Attrs::body), f("n_carried", &Attrs::n_carried);
    }
  };

  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Loop> loop;

}  // namespace lamella
