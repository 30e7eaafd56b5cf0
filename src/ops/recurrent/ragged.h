// Sequences of different lengths over one axis of tokens, each with a state of its own: sequence s
// owns the tokens q_start[s] to q_start[s + 1] and entry slot[s] of the state. Where states are to
// stay as they were, or several are wanted, `kept` says where the new ones go.
#pragma once

#include <functional>

#include "lamella/ops/op.h"

namespace lamella {

// Checks q_start i32[seqs + 1] and slot i32[seqs], inputs `first` and `first` + 1.
void check_ragged(TypeCx& cx, size_t first);
// Checks kept i32[seqs, n], input i, where there is one; `slot` is input `slot`.
void check_kept(TypeCx& cx, size_t i, size_t slot);
// The same of length i32[seqs].
void check_length(TypeCx& cx, size_t i, size_t slot);
// Input i has these sizes and, but for the state (input 0), the float type of input 1.
void require_sizes(TypeCx& cx, size_t i, const Shape& sizes);

// The sequence of each token, i64[tokens].
Value sequence_of_tokens(Value q_start, Dim tokens);

// One token: from its sequence's state and its entries to the new state and the output.
using TokenStep = std::function<std::pair<Value, Value>(Value state, const Values& entries,
                                                        const Values& captures)>;

struct Sequencing {
  Value q_start, slot, kept;  // kept may be absent
  bool reverse = false;       // from each sequence's last token on
};
// Runs tokens in order; gives the new states, in the type of `state`, and the stacked outputs. All
// is computed in `type`.
Values ragged_scan(Value state, const Values& entries, const Values& captures,
                   const Sequencing& sequences, DType type, const TokenStep& step);

// A literal i32 vector of a sample.
inline In ragged_ints(std::vector<double> values) {
  return In{
      .shape = {static_cast<int64_t>(values.size())}, .dtype = kI32, .values = std::move(values)};
}
// The same with `columns` columns.
inline In ragged_table(int64_t columns, std::vector<double> values) {
  In in = ragged_ints(std::move(values));
  in.shape = {in.shape[0] / columns, columns};
  return in;
}

}  // namespace lamella
