#pragma once

#include "lamella/ops/control/body.h"

namespace lamella {

struct Scan {
  static constexpr Info info{.name = "scan",
                             .inputs = "values...",
                             .outputs = "results...",
                             .doc =
                                 "Runs body once for each entry along the first axis of the "
                                 "scanned values, from the last one if reverse. The "
                                 "values are n_carried carried ones, n_scanned scanned ones, then "
                                 "captures. body(carried..., entries..., "
                                 "captures...) gives carried..., stacked...; the results are the "
                                 "last carried values, then each stacked output "
                                 "along a new first axis, at the position of its entry.",
                             .ulps = 8,              // of a body's own ops
                             .ulps_per_length = 4};  // which a carried value passes on
  struct Attrs {
    GraphPtr body = {};
    int64_t n_carried = 0;
    int64_t n_scanned = 1;
    bool reverse = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("body", &Attrs::body), f("n_carried", &Attrs::n_carried), f("n_scanned", &Attrs::n_scanned),
          f("reverse", &Attrs::reverse);
    }
  };

  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Scan> scan;

}  // namespace lamella
