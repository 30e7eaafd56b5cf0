// Rewrites as data: a pattern, what replaces it, and nothing else. Each rule is tested alone.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

inline constexpr size_t kMaxVars = 4;

// What a pattern's variables stand for, and the nodes that its calls matched (outermost first).
struct Match {
  std::array<Value, kMaxVars> vars{};
  std::vector<const Node*> nodes;
};

struct Pattern {
  enum class Kind { var, constant, call } kind = Kind::var;
  size_t var = 0;
  double value = 0;  // constant: every element has it
  const Op* op = nullptr;
  std::vector<Pattern> args = {};
};

// x, y, z: any value, the same one wherever it stands.
inline Pattern var(size_t i) { return {.kind = Pattern::Kind::var, .var = i}; }
inline Pattern filled(double value) { return {.kind = Pattern::Kind::constant, .value = value}; }
template <class T>
Pattern call(std::vector<Pattern> args) {
  return {.kind = Pattern::Kind::call, .op = &op<T>, .args = std::move(args)};
}

struct Rule {
  std::string_view name;
  Pattern from;
  // The value that takes the pattern's place; absent: the rule does not fit after all.
  std::function<Value(Graph&, const Match&)> to;
};

// `to` a variable.
struct Becomes {
  size_t var;
  Value operator()(Graph&, const Match& m) const { return m.vars[var]; }
};
inline std::function<Value(Graph&, const Match&)> becomes(size_t i) { return Becomes{i}; }

// Matches the pattern at value v (output 0 of its node); commutative ops in both orders.
std::optional<Match> match(const Pattern& pattern, Value v);

// Those that hold for every target, in order of their files: what canonicalise applies.
std::span<const Rule> rules();
std::span<const Rule> arithmetic_rules();
std::span<const Rule> shape_rules();
// Those that make a silu: what fuse applies where the target has a row for it.
std::span<const Rule> silu_rules();

// Applies only these rules. A replacement must have the type of what it replaces.
Graph apply_rules(Graph graph, std::span<const Rule> rules);

}  // namespace lamella
