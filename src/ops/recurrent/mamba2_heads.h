// Inputs and groups of Mamba 2's step, for it and its gradient.
#pragma once

#include "lamella/ops/recurrent/mamba2.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

// Checks the inputs from state to slot.
void check_mamba2_inputs(TypeCx& cx);

// Groups [groups, n] as heads see them: [heads, 1, n].
inline Value for_heads(Value x, Dim heads) {
  const Dim groups = x.shape()[0], n = x.shape()[1];
  const Value one = reshape_to(x, {groups, 1, n});
  return reshape_to(expand_to(one, {groups, floordiv(heads, groups), n}), {heads, 1, n});
}

// Inputs of a sample, from state to slot.
inline std::vector<In> mamba2_inputs(int64_t slots, int64_t tokens, int64_t heads, int64_t groups,
                                     int64_t p, int64_t n, In q_start, In slot) {
  return {In{.shape = {slots, heads, p, n}},
          In{.shape = {tokens, heads, p}},
          In{.shape = {tokens, heads}, .domain = {0, 1}},
          In{.shape = {heads}, .domain = {-2, 0}},
          In{.shape = {tokens, groups, n}},
          In{.shape = {tokens, groups, n}},
          std::move(q_start),
          std::move(slot)};
}

}  // namespace lamella
