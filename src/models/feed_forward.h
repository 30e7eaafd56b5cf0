// The parts of a layer behind its attention or recurrence: a gated MLP, or experts.
#pragma once

#include "lamella/models/causal.h"
#include "lamella/ops/linalg/activation.h"

namespace lamella {

// ffn_down (gate(ffn_gate x) * ffn_up x); `suffix` is behind the names of the three.
Value gated_mlp(CausalBuilder& b, int64_t layer, Value x, int64_t embedding, int64_t hidden,
                Activation gate, std::string_view suffix = "");

struct ExpertParams {
  int64_t embedding = 0, hidden = 0, experts = 0, used = 0;
  Activation gate = Activation::silu;
};
// The experts with the greatest scores, summed by their shares of the softmax.
Value experts(CausalBuilder& b, int64_t layer, Value x, const ExpertParams& params);

}  // namespace lamella
