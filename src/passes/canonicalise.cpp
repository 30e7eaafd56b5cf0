#include "lamella/passes/passes.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {

Graph canonicalise(Graph graph, const Target&) { return apply_rules(std::move(graph), rules()); }

}  // namespace lamella
