// Heads of the gated delta rule, for it and its gradient.
#pragma once

#include <cmath>

#include "lamella/ops/recurrent/gated_delta_net.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

// Checks the inputs from state to slot.
void check_delta_inputs(TypeCx& cx, const GatedDeltaNet::Attrs& a);

// Key heads [hk, dk] as value heads see them: [hv, dk, 1].
inline Value for_value_heads(Value x, Dim hv, HeadMap map) {
  const Dim hk = x.shape()[0], dk = x.shape()[1], each = floordiv(hv, hk);
  const bool blocks = map == HeadMap::blocks;
  const Value one = reshape_to(x, blocks ? Shape{hk, 1, dk} : Shape{1, hk, dk});
  return reshape_to(expand_to(one, blocks ? Shape{hk, each, dk} : Shape{each, hk, dk}),
                    {hv, dk, 1});
}

// The other way round: what value heads [tokens, hv, dk] give to theirs, summed: [tokens, hk, dk].
inline Value sum_for_key_heads(Value x, Dim hk, HeadMap map) {
  const Dim tokens = x.shape()[0], dk = x.shape()[2], each = floordiv(x.shape()[1], hk);
  const bool blocks = map == HeadMap::blocks;
  return sum(reshape_to(x, blocks ? Shape{tokens, hk, each, dk} : Shape{tokens, each, hk, dk}),
             {.axes = {blocks ? 2 : 1}});
}

inline double delta_scale(const GatedDeltaNet::Attrs& a, Dim dk) {
  return a.scale.value_or(dk.is_const() ? 1 / std::sqrt(static_cast<double>(dk.value())) : 0);
}

// Inputs of a sample of the rule, with keys short enough for the state to stay bounded; `g` a head,
// or a channel of a key.
inline std::vector<In> delta_rule_inputs(int64_t slots, int64_t tokens, int64_t hk, int64_t hv,
                                         int64_t dk, int64_t dv, bool per_channel, In q_start,
                                         In slot) {
  const double k = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(dk, 1)));
  In g{.shape = {tokens, hv}, .domain = {-0.5, 0}};
  if (per_channel) g.shape.push_back(dk);
  return {In{.shape = {slots, hv, dk, dv}},
          In{.shape = {tokens, hk, dk}},
          In{.shape = {tokens, hk, dk}, .domain = {-k, k}},
          In{.shape = {tokens, hv, dv}},
          g,
          In{.shape = {tokens, hv}, .domain = {0, 1}},
          std::move(q_start),
          std::move(slot)};
}

}  // namespace lamella
