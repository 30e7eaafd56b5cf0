#include "lamella/passes/rules/rule.h"

#include <algorithm>
#include <cmath>

#include "lamella/base/error.h"
#include "lamella/ir/rewrite.h"

namespace lamella {
namespace {

constexpr int kMaxRounds = 32;  // rules at one node; each makes the graph smaller or simpler

bool is_filled_with(const Node& n, double value) {
  if (!n.is(op<Constant>)) return false;
  const Tensor& t = n.attrs.as<Constant::Attrs>().value;
  if (t.dtype().is_block() || t.dtype().is_string() || t.numel() == 0 || t.numel() > 4096)
    return false;
  const std::vector<double> values = t.to_doubles();
  // x - 0 is x, x - -0 is not: zeros differ.
  return std::all_of(values.begin(), values.end(), [&](double v) {
    return v == value && std::signbit(v) == std::signbit(value);
  });
}

bool match_into(const Pattern& p, Value v, Match& m) {
  if (v.absent()) return false;
  const Node& n = v.graph->node(v.id);
  switch (p.kind) {
    case Pattern::Kind::var:
      if (m.vars[p.var].absent()) m.vars[p.var] = v;
      return m.vars[p.var].id == v.id;
    case Pattern::Kind::constant:
      return is_filled_with(n, p.value);
    case Pattern::Kind::call:
      break;
  }
  if (n.op != p.op || v.id.out != 0 || n.inputs.size() < p.args.size() || n.n_saved > 0)
    return false;
  const int n_orders = n.op->has(kCommutative) && p.args.size() >= 2 ? 2 : 1;
  for (int order = 0; order < n_orders; ++order) {
    Match attempt = m;
    attempt.nodes.push_back(&n);
    bool fits = true;
    for (size_t i = 0; i < p.args.size() && fits; ++i) {
      const size_t k = order == 1 && i < 2 ? 1 - i : i;
      fits = match_into(p.args[i], v.graph->value(n.inputs[k]), attempt);
    }
    if (!fits) continue;
    m = std::move(attempt);
    return true;
  }
  return false;
}

// The value after all rules that fit at it, one after the other.
Value simplified(Graph& g, Value v, std::span<const Rule> rules) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const Type type = v.type();
    const Value before = v;
    for (const Rule& rule : rules) {
      auto m = match(rule.from, v);
      if (!m) continue;
      const Value next = rule.to(g, *m);
      if (next.absent() || next.id == v.id || !(next.type() == type)) continue;
      v = next;
      break;
    }
    if (v.id == before.id) return v;
  }
  return v;
}

}  // namespace

std::optional<Match> match(const Pattern& pattern, Value v) {
  Match m;
  if (!match_into(pattern, v, m)) return std::nullopt;
  return m;
}

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> list;
    for (auto file : {arithmetic_rules, shape_rules}) {
      const auto rules = file();
      list.insert(list.end(), rules.begin(), rules.end());
    }
    return list;
  }();
  return all;
}

namespace {

// False only where the rule changes nothing at v, as far as that shows without building anything.
bool may_apply(const Rule& rule, Value v) {
  const auto m = match(rule.from, v);
  const auto* var = rule.to.target<Becomes>();
  return m && (!var || m->vars[var->var].type() == v.type());
}

}  // namespace

Graph apply_rules(Graph graph, std::span<const Rule> rules) {
  // Nodes are rebuilt in order, so the inputs of each are simple already: one sweep reaches the
  // end.
  const auto fits = [&](uint32_t i) {
    return graph.nodes()[i].outputs.size() == 1 &&
           std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
             return may_apply(rule, graph.value({i, 0}));
           });
  };
  auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    if (r.is_untouched() && !fits(i)) return std::nullopt;
    Values out = r.copy(i);
    if (out.size() == 1) out[0] = simplified(r.to(), out[0], rules);
    return out;
  });
  return changed ? prune(std::move(*changed)) : std::move(graph);
}

}  // namespace lamella
