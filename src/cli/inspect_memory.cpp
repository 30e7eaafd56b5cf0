#include "lamella/cli/inspect_memory.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/base/memory.h"
#include "lamella/base/python_package.h"
#include "lamella/base/text.h"
#include "lamella/cli/step.h"
#include "lamella/cli/table.h"

namespace lamella::cli {
namespace {

std::string size_text(int64_t bytes) { return human_bytes(static_cast<uint64_t>(bytes)); }

}  // namespace

ModelMemory estimate_model_memory(const ModelFlags& flags) {
  const LoadOptions load = load_options(flags);
  const Checkpoint checkpoint = load_checkpoint(model_path(flags.model).string());
  const Model model = build_model(checkpoint, {.kv_type = load.kv_type, .context = load.context});
  ModelMemory m;
  m.kv_type = load.kv_type.name();
  m.context = load.context > 0 ? load.context : std::min(kDefaultContext, model.info.context);
  for (const auto& [name, tensor] : model.weights)
    m.weights += static_cast<int64_t>(tensor.bytes());
  const EntryBytes entry = entry_bytes(model.graph);
  const int64_t page = model.info.page;
  m.kv = (m.context + page - 1) / page * entry.page;
  m.kv_a_position = entry.page / page;
  m.recurrent = Engine::slots_for({.max_sequences = 1}) * entry.slot;
  const auto backend = make_backend(load.backend, 1);
  m.prefill_tokens = std::min(backend->prompt_step(), m.context);
  const auto arena = [&](Phase phase, int64_t tokens) {
    const auto program = compile(model.graph, *backend, {.phase = phase, .exact = load.exact});
    return program->estimate_memory(bind_step(program->graph(), m.context, {tokens, m.context}))
        .arena_bytes;
  };
  m.arena_prefill = arena(Phase::bulk, m.prefill_tokens);
  m.arena_decode = arena(Phase::decode, 1);
  m.available = available_memory_bytes();
  return m;
}

std::string memory_text(const ModelMemory& m) {
  Table table({"memory to run", ">size", ""});
  table.add({"weights", size_text(m.weights), "mapped from the file"});
  table.add(
      {"kv cache", size_text(m.kv),
       str(m.context, " positions of ", m.kv_type, ", ", size_text(m.kv_a_position), " each")});
  if (m.recurrent > 0) table.add({"recurrent states", size_text(m.recurrent), "of one sequence"});
  table.add({"prefill arena", size_text(m.arena_prefill), str(m.prefill_tokens, " tokens a step")});
  table.add({"decode arena", size_text(m.arena_decode), ""});
  table.add({"all", size_text(m.total()), ""});
  std::string out = table.text();
  const int64_t rest = m.available - (m.total() - m.kv);
  if (m.available < std::numeric_limits<int64_t>::max() && m.kv_a_position > 0)
    out += str("\n", size_text(m.available), " of memory is free: room for ",
               std::max<int64_t>(rest, 0) / m.kv_a_position, " positions\n");
  return out;
}

}  // namespace lamella::cli
