#include "lamella/lm/step_sizes.h"

#include "lamella/lm/kv_pool.h"

namespace lamella {

DimBinding bind_step(const Graph& graph, int64_t context, const StepSizes& sizes) {
  const int64_t page = page_positions(graph);
  const auto pages = [&](int64_t positions) { return (positions + page - 1) / page; };
  const std::pair<std::string_view, int64_t> values[] = {
      {"tokens", sizes.tokens * sizes.sequences},
      {"seqs", sizes.sequences},
      {"max_pages", pages(context)},
      {"pages", pages(sizes.length) * sizes.sequences},
      {"rows", sizes.sequences},
      {"slots", sizes.sequences + 1},
      {"n_kept", 1},
  };
  DimBinding binding(graph.dims()->n_symbols());
  for (const auto& [name, value] : values)
    if (const auto dim = graph.dims()->find_symbol(name)) binding[dim->expr()->symbol] = value;
  return binding;
}

}  // namespace lamella
