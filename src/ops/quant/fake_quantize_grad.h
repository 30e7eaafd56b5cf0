#pragma once

#include "lamella/ops/quant/fake_quantize.h"

namespace lamella {

struct FakeQuantizeGrad {
  static constexpr Info info{
      .name = "fake_quantize_grad",
      .inputs = "g, x, scale",
      .outputs = "dx, dscale",
      .doc =
          "What stands for the gradient of fake_quantize, g being that by y, u = x / scale (0 "
          "where "
          "scale is 0). dx by `gradient`: identity: g. clipped: g where |round(u)| <= q_max, else "
          "0. tanh: g (1 - tanh(u)^2). hard_tanh: g max(0, 1 - |u| / q_max). dscale (learnt step "
          "size, Esser et al. 2020): the sum over the x that share a scale of g times round(u) - u "
          "where |u| < q_max, else times q_max with the sign of u; divided by sqrt(n q_max) for n "
          "such x.",
      .ulps = 16,
      .ulps_per_length = 1,
      .traits = kRowScale};
  using Attrs = FakeQuantizeAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static Values expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<FakeQuantizeGrad> fake_quantize_grad;

}  // namespace lamella
