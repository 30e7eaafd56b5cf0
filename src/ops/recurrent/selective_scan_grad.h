#pragma once

#include "lamella/ops/recurrent/selective_scan.h"

namespace lamella {

struct SelectiveScanGrad {
  static constexpr Info info{
      .name = "selective_scan_grad",
      .inputs = "state, x, dt, a, b, c, q_start, slot, d_next, d_y",
      .outputs = "d_state, d_x, d_dt, d_a, d_b, d_c",
      .doc =
          "The gradients of selective_scan's inputs, without d, from those of its outputs, next "
          "and y. Kernels keep a state every 64 tokens and compute the others anew.",
      .ulps = 256,
      .ulps_per_length = 16,
      .updates = "d_next",
      .traits = kRowScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static Values expand(const Args& args, const NoAttrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[1].shape.numel() * g.type(n.inputs[0]).shape.last() * 20;
  }
  static void samples(Samples& s);
};
inline constexpr Call<SelectiveScanGrad> selective_scan_grad;

// Checks the inputs from state to slot.
void check_selective_scan_inputs(TypeCx& cx);
// Inputs of a sample, from state to slot.
std::vector<In> selective_scan_inputs(int64_t slots, int64_t tokens, int64_t channels, int64_t n,
                                      In q_start, In slot);

}  // namespace lamella
