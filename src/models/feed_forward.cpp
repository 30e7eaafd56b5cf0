#include "lamella/models/feed_forward.h"

#include "lamella/base/text.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/top_k.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

Value gated_mlp(CausalBuilder& b, int64_t layer, Value x, int64_t embedding, int64_t hidden,
                Activation gate, std::string_view suffix) {
  const auto name = [&](std::string_view part) { return layer_name(layer, str(part, suffix)); };
  const Value g = b.project(x, name("ffn_gate"), hidden, embedding);
  const Value up = b.project(x, name("ffn_up"), hidden, embedding);
  return b.project(activate(g, gate) * up, name("ffn_down"), embedding, hidden);
}

Value experts(CausalBuilder& b, int64_t layer, Value x, const ExpertParams& p) {
  const Value scores = b.project(x, layer_name(layer, "ffn_gate_inp"), p.experts, p.embedding);
  const Values best = top_k(softmax(scores), {.k = p.used});
  const Value share = best[0] / sum(best[0], {.axes = {-1}, .keep = true});
  const Value chosen = cast(best[1], {.to = kI32});
  const auto times = [&](Value v, std::string_view part, int64_t rows, int64_t k) {
    const std::string name = layer_name(layer, part) + ".weight";
    const auto scope = b.graph().origin(name);
    return grouped_matmul(v, b.weight(name, {p.experts, rows, k}), chosen);
  };
  const Value gate = times(x, "ffn_gate_exps", p.hidden, p.embedding),
              up = times(x, "ffn_up_exps", p.hidden, p.embedding);
  const Value y = times(activate(gate, p.gate) * up, "ffn_down_exps", p.embedding, p.hidden);
  return sum(y * reshape_to(share, {x.shape()[0], p.used, 1}), {.axes = {1}});
}

}  // namespace lamella
