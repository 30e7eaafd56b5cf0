#pragma once

#include "lamella/ops/recurrent/recurrence.h"

namespace lamella {

enum class RecurrenceCell : int { lstm, gru, gru_reset_before, rnn_tanh, rnn_relu };
template <>
struct EnumNames<RecurrenceCell> {
  static constexpr std::array<std::string_view, 5> names{"lstm", "gru", "gru_reset_before",
                                                         "rnn_tanh", "rnn_relu"};
};

struct RecurrenceGrad {
  static constexpr Info info{
      .name = "recurrence_grad",
      .inputs = "x, w, r, bias?, lengths?, h0?, c0?, y, d_y, d_h, d_c?",
      .outputs = "d_gates, d_parts, seen, d_h0, d_c0",
      .doc =
          "What the gradients of lstm, gru and rnn are made of, from their inputs, their output y "
          "and the gradients of their outputs. d_gates and d_parts [steps, directions, batch, "
          "gates * hidden] are the gradients of w's products and of r's, seen [steps, directions, "
          "batch, hidden] the state that r multiplies, d_h0 and d_c0 (lstm; else of no entries) "
          "[directions, batch, hidden] those of the states. Beyond a row's length all are 0. cell: "
          "gru_reset_before is gru without linear_before_reset; its seen [.., 2 * hidden] are h "
          "and r * h. onnx_gates: iofg or zrn. Kernels keep the gates and cells of all steps.",
      .ulps = 512,
      .ulps_per_length = 16,
      .traits = kRowScale};
  struct Attrs {
    Direction direction = Direction::forward;
    RecurrenceCell cell = RecurrenceCell::lstm;
    bool onnx_gates = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("direction", &Attrs::direction), f("cell", &Attrs::cell),
          f("onnx_gates", &Attrs::onnx_gates);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Values expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<RecurrenceGrad> recurrence_grad;

// The gradients of lstm, gru and rnn.
void recurrence_vjp(VjpCx& cx, const RecurrenceGrad::Attrs& a);

}  // namespace lamella
