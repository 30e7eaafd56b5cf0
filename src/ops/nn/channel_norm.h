// What the norms of images share: x [batch, channels, ...], and weight and bias of a channel.
#pragma once

#include "lamella/ops/nn/norm.h"

namespace lamella {

inline void check_channel_norm(TypeCx& cx, double eps) {
  cx.require_float(0);
  cx.check(cx.shape(0).rank() >= 2, "wants x [batch, channels, ...]; got ", cx.in(0));
  cx.check(std::isfinite(eps) && eps >= 0, "eps is out of range; got ", eps,
           "; want 0 or a positive number");
}
// Input i, where given, is a float vector with a number for each channel of x.
inline void check_channel_vector(TypeCx& cx, size_t i) {
  if (!cx.has(i)) return;
  cx.require_float(i), cx.require_rank(i, 1);
  cx.require_equal(cx.shape(i)[0], cx.shape(0)[1],
                   str("sizes of ", cx.input_name(i), " and the channels of x"));
}
// A vector of channels as [channels, 1, ...], to go with x of that rank.
inline Value along_channels(Value v, size_t rank, DType type) {
  Shape shape(std::vector<Dim>(rank - 1, Dim(1)));
  shape.dims[0] = v.shape()[0];
  return reshape_to(as_dtype(v, type), shape);
}
// normal * weight + bias, where these are given, in the type asked for.
inline Value scaled_channels(Value normal, Value weight, Value bias, DType to) {
  const size_t rank = normal.shape().rank();
  if (!weight.absent()) normal = normal * along_channels(weight, rank, normal.dtype());
  if (!bias.absent()) normal = normal + along_channels(bias, rank, normal.dtype());
  return as_dtype(normal, to);
}
// (x - mean) / sqrt(mean((x - mean)^2) + eps) over these axes.
inline Value normal_over(Value x, std::vector<int64_t> axes, double eps) {
  const ReduceAttrs over{std::move(axes), true};
  const Value centred = x - mean(x, over);
  return centred * rsqrt(mean(square(centred), over) + eps);
}

}  // namespace lamella
