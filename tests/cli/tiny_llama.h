// A llama of one layer with random weights, small enough to be written by each test that needs one.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace lamella::test {

struct TinyLlama {
  std::string architecture = "llama";
  uint32_t embedding = 32, heads = 4, kv_heads = 2, feed_forward = 48, context = 256, layers = 1;
  bool has_chat_template = true;
  std::string chat_template =
      "{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}";
  std::string left_out = {};   // a tensor that is missing
  std::string misshapen = {};  // a tensor with one row less than it should have
  uint32_t type_of_norms = 0;  // f32
  bool has_tokenizer = true;
  uint32_t seed = 7;  // of the weights

  static std::string utf8(uint32_t code) {
    if (code < 0x80) return {static_cast<char>(code)};
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  }
  // One token a byte, in the alphabet of byte-level vocabularies, then two control tokens.
  static std::vector<std::string> tokens() {
    std::vector<std::string> out;
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool shown = (b >= 33 && b <= 126) || (b >= 161 && b != 173);
      out.push_back(utf8(shown ? b : next++));
    }
    out.push_back("<|im_start|>");
    out.push_back("<|im_end|>");
    return out;
  }

  GgufWriter writer() const {
    GgufWriter w;
    const std::string p = architecture + ".";
    w.add("general.architecture", architecture)
        .add(p + "block_count", layers)
        .add(p + "context_length", context)
        .add(p + "embedding_length", embedding)
        .add(p + "feed_forward_length", feed_forward)
        .add(p + "attention.head_count", heads)
        .add(p + "attention.head_count_kv", kv_heads)
        .add(p + "attention.layer_norm_rms_epsilon", 1e-5f)
        .add(p + "rope.freq_base", 10000.0f);
    if (has_tokenizer) add_tokenizer(w);
    std::mt19937 rng(seed);
    const uint64_t e = embedding, f = feed_forward, kv = e / heads * kv_heads;
    add_matrix(w, rng, "token_embd.weight", {258, e});
    for (uint32_t layer = 0; layer < layers; ++layer) {
      const std::string b = "blk." + std::to_string(layer) + ".";
      add_norm(w, b + "attn_norm.weight");
      add_matrix(w, rng, b + "attn_q.weight", {e, e});
      add_matrix(w, rng, b + "attn_k.weight", {kv, e});
      add_matrix(w, rng, b + "attn_v.weight", {kv, e});
      add_matrix(w, rng, b + "attn_output.weight", {e, e});
      add_norm(w, b + "ffn_norm.weight");
      add_matrix(w, rng, b + "ffn_gate.weight", {f, e});
      add_matrix(w, rng, b + "ffn_up.weight", {f, e});
      add_matrix(w, rng, b + "ffn_down.weight", {e, f});
    }
    add_norm(w, "output_norm.weight");
    return w;
  }

  // Writes it and gives the path back.
  std::string write(const std::string& path) const {
    writer().write(path);
    return path;
  }

 private:
  void add_tokenizer(GgufWriter& w) const {
    std::vector<int32_t> types(256, 1);
    types.insert(types.end(), {3, 3});
    w.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
    w.add_array<std::string>("tokenizer.ggml.tokens", tokens());
    w.add_array<int32_t>("tokenizer.ggml.token_type", types);
    w.add_array<std::string>("tokenizer.ggml.merges", {});
    w.add("tokenizer.ggml.bos_token_id", uint32_t{256})
        .add("tokenizer.ggml.eos_token_id", uint32_t{257});
    w.add("tokenizer.ggml.add_bos_token", false);
    if (has_chat_template) w.add("tokenizer.chat_template", chat_template);
  }
  void add_matrix(GgufWriter& w, std::mt19937& rng, const std::string& name,
                  std::vector<uint64_t> dims) const {
    if (name == left_out) return;
    if (name == misshapen) --dims[0];
    std::vector<float> values(dims[0] * dims[1]);
    for (float& v : values) v = (static_cast<float>(rng() % 2001) - 1000) / 2500;
    w.add_tensor(name, dims, 0, w.pack(values));
  }
  void add_norm(GgufWriter& w, const std::string& name) const {
    if (name == left_out) return;
    w.add_tensor(name, {embedding}, type_of_norms, w.pack(std::vector<float>(embedding, 1.0f)));
  }
};

}  // namespace lamella::test
