// What the builders of hybrids and state-space models refuse: metadata that is missing, zero,
// negative, absurd or of another kind. The values that models give are judged in
// tests/lm/arch_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lamella/base/error.h"
#include "lamella/models/model.h"

namespace lamella {
namespace {

using testing::HasSubstr;

struct Size {
  const char* name;
  std::vector<int64_t> shape;
};

Checkpoint small(const std::string& architecture, const std::vector<Size>& tensors) {
  Checkpoint c;
  c.source = "m.gguf";
  c.architecture = architecture;
  c.metadata = {{"block_count", int64_t{1}},     {"embedding_length", int64_t{8}},
                {"context_length", int64_t{64}}, {"attention.layer_norm_rms_epsilon", 1e-5},
                {"ssm.conv_kernel", int64_t{4}}, {"ssm.state_size", int64_t{4}}};
  const auto add = [&](const Size& size) { c.tensors[size.name] = Tensor(kF32, size.shape); };
  for (const Size& size : {Size{"token_embd.weight", {10, 8}}, Size{"output_norm.weight", {8}},
                           Size{"blk.0.attn_norm.weight", {8}}})
    add(size);
  for (const Size& size : tensors) add(size);
  return c;
}

// Inner size 16.
Checkpoint small_mamba() {
  Checkpoint c = small("mamba", {{"blk.0.ssm_in.weight", {32, 8}},
                                 {"blk.0.ssm_conv1d.weight", {16, 4}},
                                 {"blk.0.ssm_conv1d.bias", {16}},
                                 {"blk.0.ssm_x.weight", {11, 16}},
                                 {"blk.0.ssm_dt.weight", {16, 3}},
                                 {"blk.0.ssm_dt.bias", {16}},
                                 {"blk.0.ssm_a", {16, 4}},
                                 {"blk.0.ssm_d", {16}},
                                 {"blk.0.ssm_out.weight", {8, 16}}});
  c.metadata["ssm.inner_size"] = int64_t{16};
  c.metadata["ssm.time_step_rank"] = int64_t{3};
  return c;
}

// The same in 4 heads and 2 groups.
Checkpoint small_mamba2() {
  Checkpoint c = small("mamba2", {{"blk.0.ssm_in.weight", {52, 8}},
                                  {"blk.0.ssm_conv1d.weight", {32, 4}},
                                  {"blk.0.ssm_conv1d.bias", {32}},
                                  {"blk.0.ssm_dt.bias", {4}},
                                  {"blk.0.ssm_a", {4, 1}},
                                  {"blk.0.ssm_d", {4, 1}},
                                  {"blk.0.ssm_norm.weight", {2, 8}},
                                  {"blk.0.ssm_out.weight", {8, 16}}});
  c.metadata["ssm.inner_size"] = int64_t{16};
  c.metadata["ssm.time_step_rank"] = int64_t{4};
  c.metadata["ssm.group_count"] = int64_t{2};
  return c;
}

// A layer of the delta rule, then one of attention.
Checkpoint small_hybrid(const std::string& architecture, bool has_experts) {
  Checkpoint c = small(architecture, {{"blk.1.attn_norm.weight", {8}},
                                      {"blk.0.attn_qkv.weight", {16, 8}},
                                      {"blk.0.attn_gate.weight", {8, 8}},
                                      {"blk.0.ssm_conv1d.weight", {16, 4}},
                                      {"blk.0.ssm_a", {2}},
                                      {"blk.0.ssm_dt.bias", {2}},
                                      {"blk.0.ssm_norm.weight", {4}},
                                      {"blk.0.ssm_out.weight", {8, 8}},
                                      {"blk.1.attn_q.weight", {16, 8}},
                                      {"blk.1.attn_k.weight", {4, 8}},
                                      {"blk.1.attn_v.weight", {4, 8}},
                                      {"blk.1.attn_q_norm.weight", {4}},
                                      {"blk.1.attn_k_norm.weight", {4}},
                                      {"blk.1.attn_output.weight", {8, 8}}});
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    c.tensors[name] = Tensor(kF32, std::move(shape));
  };
  if (architecture == "qwen3next") {
    add("blk.0.ssm_ba.weight", {4, 8});
  } else {
    add("blk.0.ssm_beta.weight", {2, 8});
    add("blk.0.ssm_alpha.weight", {2, 8});
  }
  for (const std::string b : {"blk.0.", "blk.1."}) {
    add(b + "post_attention_norm.weight", {8});
    for (const char* part : {"ffn_gate", "ffn_up"})
      if (has_experts)
        add(b + part + "_exps.weight", {4, 6, 8}), add(b + part + "_shexp.weight", {5, 8});
      else
        add(b + part + ".weight", {12, 8});
    if (!has_experts) add(b + "ffn_down.weight", {8, 12});
    if (!has_experts) continue;
    add(b + "ffn_down_exps.weight", {4, 8, 6});
    add(b + "ffn_down_shexp.weight", {8, 5});
    add(b + "ffn_gate_inp.weight", {4, 8});
    add(b + "ffn_gate_inp_shexp.weight", {8});
  }
  const std::pair<const char*, int64_t> sizes[] = {{"block_count", 2},
                                                   {"feed_forward_length", 12},
                                                   {"attention.head_count", 2},
                                                   {"attention.head_count_kv", 1},
                                                   {"attention.key_length", 4},
                                                   {"attention.value_length", 4},
                                                   {"full_attention_interval", 2},
                                                   {"ssm.inner_size", 8},
                                                   {"ssm.time_step_rank", 2},
                                                   {"ssm.group_count", 1}};
  for (const auto& [key, size] : sizes) c.metadata[key] = size;
  const std::pair<const char*, int64_t> of_experts[] = {{"expert_count", 4},
                                                        {"expert_used_count", 2},
                                                        {"expert_feed_forward_length", 6},
                                                        {"expert_shared_feed_forward_length", 5}};
  if (has_experts)
    for (const auto& [key, size] : of_experts) c.metadata[key] = size;
  return c;
}

std::vector<Checkpoint> families() {
  return {small_mamba(), small_mamba2(), small_hybrid("qwen35", false),
          small_hybrid("qwen35moe", true), small_hybrid("qwen3next", true)};
}

std::string refusal(const Checkpoint& c) {
  try {
    build_model(c);
  } catch (const UserError& e) {
    return e.what();
  }
  return "built";
}

TEST(Recurrent, SoundFilesAreBuilt) {
  for (const Checkpoint& c : families()) EXPECT_EQ(refusal(c), "built") << c.architecture;
}

// Every number of every family in turn; the message names it.
TEST(Recurrent, AbsurdMetadataIsRefused) {
  const Checkpoint::Value absurd[] = {int64_t{0},
                                      int64_t{-1},
                                      int64_t{1} << 40,
                                      INT64_MIN,
                                      INT64_MAX,
                                      std::string("many"),
                                      std::vector<int64_t>{1, 2, 3}};
  for (const Checkpoint& sound : families())
    for (const auto& [key, value] : sound.metadata)
      for (const Checkpoint::Value& bad : absurd) {
        const auto* number = std::get_if<int64_t>(&bad);
        const bool is_size = std::holds_alternative<int64_t>(value);
        if (number && *number > 0 && !is_size) continue;  // an eps may be as large
        // No experts at all, or no shared one: what the file holds of them speaks against it.
        const bool is_named = key.substr(0, 6) != "expert" || !number || *number != 0;
        Checkpoint c = sound;
        c.metadata[key] = bad;
        EXPECT_THAT(refusal(c), HasSubstr(is_named ? key : "m.gguf: "))
            << c.architecture << ", " << key;
        EXPECT_NE(refusal(c), "built") << c.architecture << ", " << key;
      }
}

// The largest that each may be, all together: products of sizes that no 64 bits would hold.
TEST(Recurrent, SizesThatMultiplyToTooMuchAreRefused) {
  for (const int64_t size : {int64_t{1} << 20, int64_t{1} << 31})
    for (Checkpoint c : families()) {
      for (const char* key : {"ssm.inner_size", "ssm.state_size", "ssm.time_step_rank",
                              "ssm.group_count", "attention.head_count", "attention.head_count_kv",
                              "attention.key_length", "attention.value_length"})
        c.metadata[key] = size;
      EXPECT_THAT(refusal(c), testing::AnyOf(HasSubstr("is out of range"), HasSubstr("too large"),
                                             HasSubstr("has the wrong sizes")));
    }
}

TEST(Recurrent, MissingMetadataIsNamed) {
  const auto names = [](const std::string& key) {
    return testing::AllOf(HasSubstr(key), HasSubstr("is missing"));
  };
  for (const Checkpoint& sound : families())
    for (const char* key : {"block_count", "embedding_length", "context_length", "ssm.conv_kernel",
                            "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank"}) {
      Checkpoint c = sound;
      c.metadata.erase(key);
      EXPECT_THAT(refusal(c), names(key)) << c.architecture;
    }
  for (const Checkpoint& sound : families()) {
    if (sound.metadata.count("attention.head_count") == 0) continue;
    Checkpoint c = sound;
    c.metadata.erase("attention.head_count");
    EXPECT_THAT(refusal(c), names("attention.head_count"));
    // Without it every fourth layer attends, which the tensors do not say.
    c = sound;
    c.metadata.erase("full_attention_interval");
    EXPECT_THAT(refusal(c), HasSubstr("'blk.1.attn_qkv.weight' is missing"));
  }
  Checkpoint c = small_mamba2();
  c.metadata.erase("ssm.group_count");
  EXPECT_THAT(refusal(c),
              HasSubstr("'blk.0.ssm_in.weight' has the wrong sizes; got [52, 8]; want [44, 8]"));
}

TEST(Recurrent, ContradictionsAreNamed) {
  const auto with = [](Checkpoint c, const std::string& key, int64_t value) {
    c.metadata[key] = value;
    return refusal(c);
  };
  EXPECT_THAT(with(small_mamba2(), "ssm.time_step_rank", 3),
              HasSubstr("heads do not divide; got inner size 16, 3 heads and 2 groups"));
  EXPECT_THAT(with(small_hybrid("qwen35", false), "ssm.time_step_rank", 3),
              HasSubstr("heads of the delta rule do not divide; got inner size 8, 3 value heads"));
  EXPECT_THAT(with(small_hybrid("qwen35", false), "attention.value_length", 8),
              HasSubstr("keys and values differ in size; got 4 and 8"));
  EXPECT_THAT(
      with(small_mamba(), "ssm.conv_kernel", 3),
      HasSubstr("'blk.0.ssm_conv1d.weight' has the wrong sizes; got [16, 4]; want [16, 3]"));
  EXPECT_THAT(with(small_hybrid("qwen35moe", true), "expert_used_count", 5),
              HasSubstr("bad number of experts used; got 5; want 1 to 4"));
  Checkpoint c = small_hybrid("qwen3next", true);
  c.metadata["rope.dimension_sections"] = std::vector<int64_t>{1, 1, -1, 0};
  EXPECT_THAT(refusal(c), HasSubstr("'rope.dimension_sections' is out of range; got -1"));
}

}  // namespace
}  // namespace lamella
