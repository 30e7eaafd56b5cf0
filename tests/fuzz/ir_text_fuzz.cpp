// The reader of IR text on any bytes: it gives a graph or throws UserError, and what it gave
// prints, reads back as the same graph, verifies, and can be pruned.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ir/verify.h"
#include "lamella/ops/op.h"

namespace {

using namespace lamella;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void use(const Graph& graph) {
  const std::string text = print(graph);
  const Graph back = parse_graph(text, builtin_ops());
  check(same_graph(graph, back));
  check(print(back) == text);
  prune(graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::optional<Graph> graph;
  try {
    graph = parse_graph({reinterpret_cast<const char*>(data), size}, builtin_ops());
    verify(*graph);
  } catch (const UserError&) {
    return 0;  // a bad text; any other exception is a bug and ends the process
  }
  use(*graph);  // what was read is good: here any error is a bug
  return 0;
}
