// Rebuilding a graph node by node: how passes are written. Shape rules run again on everything that
// is built.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

// Copies one graph into a new one that shares its symbols. Inputs, parameters and states keep name
// and order.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() {
    touch();
    return to_;
  }
  // What an old value has become; absent stays absent.
  Value map(ValueId id);
  Values map(const std::vector<ValueId>& ids);
  // Says what an old node's outputs have become. Fewer outputs than the node has: only the saved
  // ones are missing.
  void set(uint32_t node, const Values& outputs);
  // Appends the node with mapped inputs and the same attributes.
  Values copy(uint32_t node);
  // The finished graph: outputs and states of the old one, mapped.
  Graph finish();
  // Nothing has been built yet: the new graph is so far the old one.
  bool is_untouched() const { return is_untouched_; }

 private:
  friend std::optional<Graph> rewrite_if(
      const Graph& graph,
      const std::function<std::optional<Values>(GraphRewriter&, uint32_t)>& replace);
  // Copies the nodes that were kept while nothing was built.
  void touch();

  const Graph& from_;
  Graph to_;
  std::vector<std::vector<ValueId>> map_;
  bool is_untouched_ = false;
  uint32_t n_kept_ = 0;
};

// Copies the structural nodes, then asks `replace` for each other node in order: values take the
// node's place, nothing copies it. The origin of the old node is that of whatever is built for it.
// Nothing is built before `replace` first asks for a value; when it never does, there is no new
// graph.
std::optional<Graph> rewrite_if(
    const Graph& graph,
    const std::function<std::optional<Values>(GraphRewriter&, uint32_t node)>& replace);

// The same; the old graph where nothing was replaced.
Graph rewrite(const Graph& graph,
              const std::function<std::optional<Values>(GraphRewriter&, uint32_t node)>& replace);

// Appends what `from` computes to `to`, with these values in the place of its inputs (in their
// order); gives its outputs. `from` has no states, and symbols only of the table of `to`.
Values append_graph(Graph& to, const Graph& from, const Values& inputs);

// Without the nodes that nothing depends on, neither for a value nor for a size that is known when
// they have run. Declared inputs, parameters, states and ordered nodes stay.
Graph prune(Graph graph);

// For each node, the nodes that read one of its outputs, in order and once each.
std::vector<std::vector<uint32_t>> readers_of(const Graph& graph);

}  // namespace lamella
