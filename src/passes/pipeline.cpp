// The list of passes, and running it: each stage verified, timed and open to dumps.
#include "lamella/passes/pipeline.h"

#include <chrono>

#include "lamella/ir/rewrite.h"
#include "lamella/ir/verify.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr Pass kPipeline[] = {
    {"fold_constants", "constants and known sizes", fold_constants},
    {"canonicalise", "rewrite rules", canonicalise},
    {"eliminate_common", "common subexpressions", eliminate_common},
    {"fuse", "what the target has rows for", fuse},
    {"expand_unclaimed", "composites without a row become their formulas", expand_unclaimed},
    {"fold_expanded", "constants of the formulas", fold_constants},
    {"canonicalise_expanded", "rewrite rules on the formulas", canonicalise},
    {"form_regions", "elementwise chains", form_regions},
    {"requantize_weights", "wider blocks for integer products, if asked for", requantize_weights},
    {"pack_activations", "encoded activations for integer products", pack_activations},
    {"eliminate_packed", "packs of one value become one", eliminate_common},
    {"choose_layouts", "operand orders without copies", choose_layouts},
    {"schedule", "readers before writers", schedule},
};

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

Lowered optimize(const Graph& graph, const Target& target, const OptimizeOptions& options,
                 std::vector<StageTime>* times) {
  using Clock = std::chrono::steady_clock;
  auto check = [&](const Graph& g) {
    if (options.verify_stages) verify(g);
  };
  auto finish_stage = [&](std::string_view name, Clock::time_point start, const Graph& g) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (times) times->push_back({std::string(name), seconds, g.nodes().size()});
    if (options.observe) options.observe(name, g);
  };
  check(graph);
  Lowered lowered{graph, {Graph("prologue", graph.dims())}};
  for (const Pass& pass : kPipeline) {
    if (pass.run == pack_activations && options.exact) continue;
    if (pass.run == requantize_weights && (options.exact || !options.requantize)) continue;
    const auto start = Clock::now();
    lowered.graph = prune(pass.run(std::move(lowered.graph), target));
    finish_stage(pass.name, start, lowered.graph);
    check(lowered.graph);
  }
  if (!options.hoist) return lowered;
  const auto start = Clock::now();
  lowered = hoist_weight_only(std::move(lowered.graph));
  lowered.graph = prune(std::move(lowered.graph));
  finish_stage("hoist_weight_only", start, lowered.graph);
  check(lowered.graph);
  check(lowered.prologue.graph);
  return lowered;
}

}  // namespace lamella
