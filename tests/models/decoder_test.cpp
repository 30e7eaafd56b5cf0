// What the builder of decoders makes of a checkpoint, and what it refuses. The values that models
// give are judged in tests/lm/arch_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lamella/models/model.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/nn/rope.h"

namespace lamella {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kEmbedding = 8, kHeads = 2, kKvHeads = 1, kHead = 4, kUp = 12, kVocabulary = 10;

void add(Checkpoint& c, const std::string& name, std::vector<int64_t> shape) {
  c.tensors[name] = Tensor(kF32, std::move(shape));
}

// A checkpoint of zeros with what the families share.
Checkpoint small(const std::string& architecture, int64_t layers = 1) {
  Checkpoint c;
  c.source = "m.gguf";
  c.architecture = architecture;
  c.metadata = {{"block_count", layers},
                {"embedding_length", kEmbedding},
                {"feed_forward_length", kUp},
                {"attention.head_count", kHeads},
                {"attention.head_count_kv", kKvHeads},
                {"context_length", int64_t{64}},
                {"attention.layer_norm_rms_epsilon", 1e-5}};
  add(c, "token_embd.weight", {kVocabulary, kEmbedding});
  add(c, "output_norm.weight", {kEmbedding});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string b = "blk." + std::to_string(i) + ".";
    for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) add(c, b + norm, {kEmbedding});
    add(c, b + "attn_q.weight", {kHeads * kHead, kEmbedding});
    add(c, b + "attn_k.weight", {kKvHeads * kHead, kEmbedding});
    add(c, b + "attn_v.weight", {kKvHeads * kHead, kEmbedding});
    add(c, b + "attn_output.weight", {kEmbedding, kHeads * kHead});
    add(c, b + "ffn_gate.weight", {kUp, kEmbedding});
    add(c, b + "ffn_up.weight", {kUp, kEmbedding});
    add(c, b + "ffn_down.weight", {kEmbedding, kUp});
  }
  return c;
}

Checkpoint small_gemma(const std::string& architecture, int64_t layers) {
  Checkpoint c = small(architecture, layers);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string b = "blk." + std::to_string(i) + ".";
    for (const char* norm : {"post_attention_norm.weight", "post_ffw_norm.weight"})
      add(c, b + norm, {kEmbedding});
    if (architecture != "gemma3") continue;
    for (const char* norm : {"attn_q_norm.weight", "attn_k_norm.weight"}) add(c, b + norm, {kHead});
  }
  return c;
}

Checkpoint small_experts() {
  Checkpoint c = small("llama");
  c.metadata["expert_count"] = int64_t{4};
  c.metadata["expert_used_count"] = int64_t{2};
  for (const char* part : {"gate", "up", "down"})
    c.tensors.erase("blk.0.ffn_" + std::string(part) + ".weight");
  add(c, "blk.0.ffn_gate_inp.weight", {4, kEmbedding});
  add(c, "blk.0.ffn_gate_exps.weight", {4, kUp, kEmbedding});
  add(c, "blk.0.ffn_up_exps.weight", {4, kUp, kEmbedding});
  add(c, "blk.0.ffn_down_exps.weight", {4, kEmbedding, kUp});
  return c;
}

Checkpoint small_fused() {
  Checkpoint c = small("phi3");
  for (const char* part : {"attn_q", "attn_k", "attn_v", "ffn_gate"})
    c.tensors.erase("blk.0." + std::string(part) + ".weight");
  add(c, "blk.0.attn_qkv.weight", {(kHeads + 2 * kKvHeads) * kHead, kEmbedding});
  add(c, "blk.0.ffn_up.weight", {2 * kUp, kEmbedding});
  return c;
}

std::string refusal(const Checkpoint& c) {
  try {
    build_model(c);
  } catch (const UserError& e) {
    return e.what();
  }
  return "built";
}

template <class T, class A = typename T::Attrs>
std::vector<A> attributes_of(const Graph& g) {
  std::vector<A> out;
  for (const Node& n : g.nodes())
    if (n.is(op<T>)) out.push_back(n.attrs.template as<A>());
  return out;
}

TEST(Decoder, LayersHaveTheWindowsOfTheirFamily) {
  Checkpoint c = small_gemma("gemma3", 6);
  c.metadata["attention.sliding_window"] = int64_t{7};
  c.metadata["rope.freq_base"] = 1e6;
  c.metadata["rope.scaling.type"] = std::string("linear");
  c.metadata["rope.scaling.factor"] = 8.0;
  const Graph g = build_model(c).graph;
  std::vector<int64_t> windows;
  for (const auto& a : attributes_of<PagedAttention>(g)) windows.push_back(a.window);
  EXPECT_THAT(windows, ElementsAre(7, 7, 7, 7, 7, 0));
  const auto ropes = attributes_of<Rope>(g);
  ASSERT_EQ(ropes.size(), 12u);
  EXPECT_EQ(ropes[0].base, 10000);
  EXPECT_EQ(ropes[0].factor, 1);
  EXPECT_EQ(ropes[11].base, 1e6);
  EXPECT_EQ(ropes[11].factor, 8);

  Checkpoint two = small_gemma("gemma2", 3);
  windows.clear();
  for (const auto& a : attributes_of<PagedAttention>(build_model(two).graph)) {
    windows.push_back(a.window);
    EXPECT_EQ(a.soft_cap, 50);
  }
  EXPECT_THAT(windows, ElementsAre(4096, 0, 4096));

  Checkpoint mistral = small("llama", 2);
  mistral.metadata["attention.sliding_window"] = int64_t{7};
  for (const auto& a : attributes_of<PagedAttention>(build_model(mistral).graph))
    EXPECT_EQ(a.window, 0);
  mistral.metadata["attention.layer_windows"] = std::vector<int64_t>{0, 5};
  windows.clear();
  for (const auto& a : attributes_of<PagedAttention>(build_model(mistral).graph))
    windows.push_back(a.window);
  EXPECT_THAT(windows, ElementsAre(0, 5));
}

TEST(Decoder, RowsKeptTogetherBecomeViews) {
  const Checkpoint c = small_fused();
  const Model m = build_model(c);
  const Tensor &qkv = c.tensors.at("blk.0.attn_qkv.weight"),
               &k = m.weights.at("blk.0.attn_k.weight"), &up = m.weights.at("blk.0.ffn_up.weight");
  EXPECT_EQ(k.storage(), qkv.storage());
  EXPECT_EQ(k.byte_offset(), static_cast<size_t>(kHeads * kHead * kEmbedding * 4));
  EXPECT_THAT(k.shape(), ElementsAre(kKvHeads * kHead, kEmbedding));
  EXPECT_EQ(up.byte_offset(), static_cast<size_t>(kUp * kEmbedding * 4));
}

TEST(Decoder, FactorsFollowTheContext) {
  Checkpoint c = small_fused();
  c.metadata["rope.scaling.original_context_length"] = int64_t{32};
  add(c, "rope_factors_long.weight", {kHead / 2});
  add(c, "rope_factors_short.weight", {kHead / 2});
  EXPECT_EQ(build_model(c, {.context = 32}).weights.count("rope_factors_short.weight"), 1u);
  EXPECT_EQ(build_model(c, {.context = 33}).weights.count("rope_factors_long.weight"), 1u);
  EXPECT_EQ(build_model(c).weights.count("rope_factors_long.weight"), 1u);
}

TEST(Decoder, ExpertsAreOneNodeAMatrix) {
  EXPECT_EQ(attributes_of<GroupedMatmul>(build_model(small_experts()).graph).size(), 3u);
}

TEST(Decoder, HalvesAreRotatedWhereTheFileSaysSo) {
  Checkpoint c = small("llama");
  EXPECT_EQ(attributes_of<Rope>(build_model(c).graph)[0].pairing, RopePairing::neighbours);
  c.metadata["rope.halves"] = true;
  EXPECT_EQ(attributes_of<Rope>(build_model(c).graph)[0].pairing, RopePairing::halves);
}

struct Bad {
  std::string message;
  Checkpoint start;
  std::function<void(Checkpoint&)> spoil;
};

TEST(Decoder, ContradictionsAreNamed) {
  const Bad cases[] = {
      {"unknown architecture; got 'qwen9'", small("qwen9"), [](Checkpoint&) {}},
      {"did you mean 'gemma3'?", small("gema3"), [](Checkpoint&) {}},
      {"'blk.0.attn_k.weight' is missing; want [4, 8]", small("llama"),
       [](Checkpoint& c) { c.tensors.erase("blk.0.attn_k.weight"); }},
      {"'token_embd.weight' is missing", small("llama"),
       [](Checkpoint& c) { c.tensors.erase("token_embd.weight"); }},
      {"'blk.0.attn_q.bias' is missing", small("qwen2"), [](Checkpoint&) {}},
      {"'blk.0.attn_q_norm.weight' is missing", small("qwen3"), [](Checkpoint&) {}},
      {"'blk.0.post_attention_norm.weight' is missing", small("gemma2"), [](Checkpoint&) {}},
      {"'blk.0.ffn_up.weight' has the wrong sizes; got [12, 8]; want [24, 8]", small("phi3"),
       [](Checkpoint&) {}},
      {"there are both 'blk.0.attn_qkv.weight' and 'blk.0.attn_q.weight'", small_fused(),
       [](Checkpoint& c) {
         add(c, "blk.0.attn_q.weight", {8, 8});
       }},
      {"'blk.0.attn_qkv.weight' has the wrong sizes; got [15, 8]; want [16, 8]", small_fused(),
       [](Checkpoint& c) {
         add(c, "blk.0.attn_qkv.weight", {15, 8});
       }},
      {"'blk.0.attn_k.weight' has the wrong sizes; got [4, 8]; want [8, 8]", small("llama"),
       [](Checkpoint& c) { c.metadata["attention.head_count_kv"] = int64_t{2}; }},
      {"'blk.0.attn_sinks.weight' has no place in a model of architecture 'llama'", small("llama"),
       [](Checkpoint& c) { add(c, "blk.0.attn_sinks.weight", {2}); }},
      {"'blk.1.attn_k.weight' has no place", small("llama", 2),
       [](Checkpoint& c) { c.metadata["block_count"] = int64_t{1}; }},
      {"'blk.0.attn_q.weight' has the wrong element type; got i32", small("llama"),
       [](Checkpoint& c) {
         c.tensors["blk.0.attn_q.weight"] = Tensor(kI32, {8, 8});
       }},
      {"'llama.block_count' is out of range; got 1000000", small("llama"),
       [](Checkpoint& c) { c.metadata["block_count"] = int64_t{1000000}; }},
      {"metadata 'llama.embedding_length' is missing", small("llama"),
       [](Checkpoint& c) { c.metadata.erase("embedding_length"); }},
      {"'context_length' has the wrong kind; got a text; want an integer", small("llama"),
       [](Checkpoint& c) { c.metadata["context_length"] = std::string("long"); }},
      {"do not divide among KV heads; got 2 and 3", small("llama"),
       [](Checkpoint& c) { c.metadata["attention.head_count_kv"] = int64_t{3}; }},
      {"bad rotary dimensions; got 6", small("llama"),
       [](Checkpoint& c) { c.metadata["rope.dimension_count"] = int64_t{6}; }},
      {"unknown rope scaling; got 'spiral'", small("llama"),
       [](Checkpoint& c) { c.metadata["rope.scaling.type"] = std::string("spiral"); }},
      {"'rope.freq_base' is out of range; got -1", small("llama"),
       [](Checkpoint& c) { c.metadata["rope.freq_base"] = -1.0; }},
      {"'attention.sliding_window' is out of range; got -3", small_gemma("gemma2", 1),
       [](Checkpoint& c) { c.metadata["attention.sliding_window"] = int64_t{-3}; }},
      {"'attention.layer_windows' has the wrong length; got 2; want 1", small("llama"),
       [](Checkpoint& c) {
         c.metadata["attention.layer_windows"] = std::vector<int64_t>{0, 5};
       }},
      {"bad number of experts used; got 5; want 1 to 4", small_experts(),
       [](Checkpoint& c) { c.metadata["expert_used_count"] = int64_t{5}; }},
      {"'blk.0.ffn_up_exps.weight' has the wrong sizes; got [3, 12, 8]; want [4, 12, 8]",
       small_experts(),
       [](Checkpoint& c) {
         add(c, "blk.0.ffn_up_exps.weight", {3, kUp, 8});
       }},
  };
  for (const Bad& bad : cases) {
    Checkpoint c = bad.start;
    bad.spoil(c);
    EXPECT_THAT(refusal(c), HasSubstr(bad.message));
  }
}

}  // namespace
}  // namespace lamella
