#include "lamella/passes/passes.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {

Graph canonicalise(const Graph& graph, const Target&) { return apply_rules(graph, rules()); }

}  // namespace lamella
