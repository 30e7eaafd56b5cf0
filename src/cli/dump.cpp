// lamella explain --dump: the graph after a stage of the pipeline, as text that parses back.
#include <cstdio>

#include "lamella/base/error.h"
#include "lamella/base/python_package.h"
#include "lamella/base/text.h"
#include "lamella/cli/explain.h"
#include "lamella/ir/print.h"

namespace lamella::cli {

std::vector<std::string> stage_names() {
  std::vector<std::string> names{"source"};
  for (const Pass& pass : pipeline()) names.emplace_back(pass.name);
  names.emplace_back("hoist_weight_only");
  return names;
}

void dump_stage(const LoadOptions& load, const std::string& model, const std::string& stage,
                Phase phase) {
  const Graph source = build_model(load_checkpoint(model_path(model).string()),
                                   {.kv_type = load.kv_type, .context = load.context})
                           .graph;
  constexpr size_t kShownBytes = 64;
  const auto show = [&](const Graph& graph) {
    std::fputs(print(graph, {.max_constant_bytes = kShownBytes}).c_str(), stdout);
  };
  if (stage == "source") return show(source);
  const auto backend = make_backend(load.backend, load.threads, load.isa);
  const CompileOptions compile{.phase = phase, .exact = load.exact};
  bool seen = false;
  const auto observe = [&](std::string_view name, const Graph& graph) {
    if (name != stage) return;
    seen = true;
    show(graph);
  };
  optimize(source, backend->target(compile), {.exact = load.exact, .observe = observe});
  CHECK_USER(seen, "--dump: stage '", stage, "' does not run with these flags");
}

}  // namespace lamella::cli
