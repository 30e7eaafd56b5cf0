#include "lamella/cli/model_flags.h"

namespace lamella::cli {

void add_model_flags(Command& c, ModelFlags& f, bool required) {
  c.argument("MODEL", f.model, "a GGUF file, or py:PACKAGE[/FILE]", required);
  c.integer("--threads", "N", f.threads, {0, 1024}, "threads; 0 is one a core");
  c.integer("--ctx", "N", f.context, {0, int64_t{1} << 24},
            "positions to reserve; 0 is what the model was trained for, at most 8192");
  c.choice(
      "--kv", "TYPE", f.kv, {"f16", "bf16", "f32", "q8_0", "q4_0"},
      "type of the KV cache: f16, bf16, f32, q8_0 or q4_0; f16 unless --exact, which takes f32");
  c.choice("--backend", "B", f.backend, backend_names(), "what computes");
  c.flag("--exact", f.exact, "activations and KV cache stay f32");
  c.choice("--weights", "HOW", f.weights, {"exact", "requantized"},
           "prompts multiply the weights as they are, or made int8 in blocks of 128: faster, less "
           "accurate; explain gives the error");
}

LoadOptions load_options(const ModelFlags& f) {
  LoadOptions o{.backend = f.backend,
                .threads = f.threads,
                .context = f.context,
                .kv_type = f.exact ? kF32 : kF16,
                .exact = f.exact,
                .requantize = f.weights == "requantized"};
  if (!f.kv.empty()) o.kv_type = find_dtype(f.kv);
  return o;
}

}  // namespace lamella::cli
