#include "lamella/cli/model_flags.h"

#include <cstdio>

#include "lamella/base/cores.h"
#include "lamella/base/text.h"

namespace lamella::cli {
namespace {

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (cpu::Isa isa : cpu::usable_isas()) names.emplace_back(cpu::name(isa));
  return names;
}

}  // namespace

void add_model_flags(Command& c, ModelFlags& f, bool required) {
  c.argument("MODEL", f.model, "a GGUF file, or py:PACKAGE[/FILE]", required);
  c.integer("--threads", "N", f.threads, {0, 1024}, "threads; 0 is one a core");
  c.integer("--ctx", "N", f.context, {0, kMaxContext},
            "positions to reserve; 0 is what the model was trained for, at most 8192");
  c.choice(
      "--kv", "TYPE", f.kv, {"f16", "bf16", "f32", "q8_0", "q4_0"},
      "type of the KV cache: f16, bf16, f32, q8_0 or q4_0; f16 unless --exact, which takes f32");
  c.choice("--isa", "I", f.isa, isa_names(),
           str("instruction set of the kernels, here ", join(isa_names(), ", "),
               "; the last of them unless given"));
  c.choice("--backend", "B", f.backend, backend_names(), "what computes");
  c.flag("--exact", f.exact, "activations and KV cache stay f32");
  c.choice("--weights", "HOW", f.weights, {"exact", "requantized"},
           "prompts multiply the weights as they are, or made int8 in wider blocks: faster, less "
           "accurate; explain gives the error");
}

LoadOptions load_options(const ModelFlags& f) {
  LoadOptions o{.backend = f.backend,
                .threads = f.threads,
                .context = f.context,
                .kv_type = f.exact ? kF32 : kF16,
                .exact = f.exact,
                .requantize = f.weights == "requantized"};
  if (!f.isa.empty()) o.isa = cpu::parse_isa(f.isa);
  if (!f.kv.empty()) o.kv_type = find_dtype(f.kv);
  return o;
}

std::unique_ptr<LanguageModel> load_model(const ModelFlags& f, const LoadOptions& options) {
  auto model = LanguageModel::load(f.model, options);
  const int cores = usable_cores();
  if (options.threads > cores)
    std::fprintf(stderr, "note: %d threads on %d core%s: those beyond the cores only cost time\n",
                 options.threads, cores, cores == 1 ? "" : "s");
  const cpu::Isa isa = options.isa.value_or(cpu::best_isa());
  if (isa == cpu::Isa::scalar && options.backend != "reference")
    std::fprintf(stderr, "note: scalar kernels, many times slower than those for AVX2%s\n",
                 cpu::best_isa() == cpu::Isa::scalar ? ", which this processor lacks" : "");
  return model;
}

}  // namespace lamella::cli
