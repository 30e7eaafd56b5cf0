#include "lamella/models/decoder_family.h"

namespace lamella {
namespace {

constexpr DecoderFamily kFamilies[] = {
    // sorted:begin
    {.name = "gemma2",
     .doc = "Gemma 2",
     .gate = Activation::gelu_tanh,
     .has_post_norms = true,
     .scales_embedding = true,
     .window_period = 2,
     .window = 4096,
     .score_cap = 50,
     .logit_cap = 30,
     .embedding_scale_layers = 46},
    {.name = "gemma3",
     .doc = "Gemma 3, text",
     .gate = Activation::gelu_tanh,
     .has_qk_norm = true,
     .has_post_norms = true,
     .scales_embedding = true,
     .window_period = 6,
     .window_rope_base = 10000,
     .embedding_scale_layers = 62},
    {.name = "llama",
     .doc = "Llama 1-3, SmolLM2, TinyLlama, Mistral, Mixtral and their like",
     .pairing = RopePairing::neighbours},
    {.name = "phi3", .doc = "Phi 3, Phi 3.5 mini, Phi 4", .has_gate_in_up = true},
    {.name = "qwen2", .doc = "Qwen 2, Qwen 2.5", .has_qkv_bias = true},
    {.name = "qwen3", .doc = "Qwen 3", .has_qk_norm = true},
    {.name = "qwen3moe", .doc = "Qwen 3 with experts", .has_qk_norm = true},
    // sorted:end
};

}  // namespace

std::span<const DecoderFamily> decoder_families() { return kFamilies; }

const DecoderFamily* find_decoder_family(std::string_view name) {
  for (const DecoderFamily& family : kFamilies)
    if (family.name == name) return &family;
  return nullptr;
}

}  // namespace lamella
