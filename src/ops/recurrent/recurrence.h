// What lstm, gru and rnn share: matrices in ONNX's layout, one or two directions, lengths of rows,
// states in and out.
#pragma once

#include <functional>

#include "lamella/ops/op.h"

namespace lamella {

enum class Direction : int { forward, reverse, bidirectional };
template <>
struct EnumNames<Direction> {
  static constexpr std::array<std::string_view, 3> names{"forward", "reverse", "bidirectional"};
};
inline int64_t n_directions(Direction d) { return d == Direction::bidirectional ? 2 : 1; }

// The inputs from x on: x [steps, batch, in], w [directions, gates * hidden, in], r [directions,
// gates * hidden, hidden], bias [directions, 2 * gates * hidden] (of w, then of r), lengths i32 or
// i64 [batch], then states [directions, batch, hidden].
inline constexpr size_t kRecurrentStates = 5;

void check_recurrent_inputs(TypeCx& cx, Direction direction, int64_t n_gates, size_t n_states);
// Checks them and gives the outputs: y [steps, directions, batch, hidden] and the states after each
// row's last step.
void recurrent_type(TypeCx& cx, Direction direction, int64_t n_gates, size_t n_states);

// One step of one direction: from the input's part of the gates [batch, gates * hidden], the states
// [batch, hidden], r, and r's bias (absent where it is in the input's part already) to the new
// states; the first one is the output.
struct RecurrentStep {
  Value gates;
  Values states;
  Value r, r_bias;
};
using RecurrentCell = std::function<Values(const RecurrentStep&)>;

// The formula: one product with w for all steps, then a scan. `keeps_r_bias`: the cell adds r's
// bias itself.
Values recurrent_formula(const Args& args, Direction direction, size_t n_states, bool keeps_r_bias,
                         const RecurrentCell& cell);

// Part `index` of [batch, parts * hidden].
Value gate_of(Value gates, int64_t index, Dim hidden);

// Samples of shapes, directions and lengths, and bad ones; `make` gives the attributes.
template <class Make>
void add_recurrent_samples(Samples& s, int64_t n_gates, size_t n_states, Make make);

}  // namespace lamella

#include "lamella/ops/recurrent/recurrence_samples.h"
