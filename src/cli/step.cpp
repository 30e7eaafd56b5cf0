#include "lamella/cli/step.h"

#include <algorithm>

namespace lamella::cli {

namespace {

bool computes_bf16(const Node& node) {
  for (const Field& field : node.attrs.fields()) {
    const EnumField* value = std::get_if<EnumField>(&field.value);
    if (field.name == "compute" && value) {
      return value->names[*static_cast<const int*>(value->value)] == "bf16";
    }
  }
  return false;
}

}  // namespace

Roofline roofline(const Graph& graph, const NodeReport& node, const cpu::MachineLimits& limits) {
  const Node& n = graph.nodes()[node.node];
  Roofline r;
  const bool int8 = !n.inputs.empty() && !n.inputs[0].absent() &&
                    graph.type(n.inputs[0]).dtype.is_block() && n.op->flops != nullptr;
  const bool bf16 = limits.bf16_flops > 0 && computes_bf16(n);
  const double rate = bf16 ? limits.bf16_flops : int8 ? limits.int8_ops : limits.f32_flops;
  const double compute = node.flops / rate, read = node.bytes / limits.read_bytes;
  r.seconds = std::max(read, compute);
  r.limit = read > compute ? "memory" : bf16 ? "bf16" : int8 ? "int8" : "f32";
  return r;
}

std::vector<int32_t> some_tokens(int64_t n, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<int32_t>((300 + i * 7) % vocabulary));
  return tokens;
}

}  // namespace lamella::cli
