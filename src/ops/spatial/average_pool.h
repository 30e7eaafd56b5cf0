#pragma once

#include "lamella/ops/spatial/pool.h"

namespace lamella {

struct AveragePool {
  static constexpr Info info{
      .name = "average_pool",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The mean of the elements under each window of `kernel` taps over the axes behind batch "
          "and channels. Padding counts as zeros with count_include_pad, else not at all; what "
          "ceil_mode hangs over the padded end never counts. Sizes as of max_pool.",
      .ulps = 4,
      .ulps_per_length = 0.5};
  using Attrs = PoolAttrs;
  static void type(TypeCx& cx, const Attrs& a) { cx.out(cx.in(0).dtype, pool_shape(cx, a)); }
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<AveragePool> average_pool;

}  // namespace lamella
