// Hugging Face folders: the reference models written anew under the other names and layouts give
// the same logits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/error.h"
#include "lamella/frontends/hugging_face/hugging_face.h"
#include "lamella/lm/folder_text.h"
#include "lamella/lm/language_model.h"
#include "tests/support/golden.h"
#include "tests/support/mlx_folder.h"
#include "tests/support/safetensors_writer.h"

namespace lamella {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Configuration and tensors that differ between the two ways of keeping a model.
struct Case {
  std::string file, model_type;
  bool permutes = false;  // GGUF has the rows of q and k in the order of neighbouring pairs
  json more = json::object();
  std::string mlx = {};  // matrices in this format of MLX's
};

const hugging_face::Family& family_of(const std::string& model_type) {
  for (const hugging_face::Family& f : hugging_face::families())
    if (f.model_type == model_type) return f;
  throw InternalError("no family " + model_type);
}

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"
std::string other_name(const hugging_face::Family& family, const std::string& name) {
  static const char* const kStems[] = {"input_layernorm",
                                       "post_attention_layernorm",
                                       "post_feedforward_layernorm",
                                       "pre_feedforward_layernorm",
                                       "mlp.down_proj",
                                       "mlp.gate_proj",
                                       "mlp.gate_up_proj",
                                       "mlp.up_proj",
                                       "self_attn.k_norm",
                                       "self_attn.k_proj",
                                       "self_attn.o_proj",
                                       "self_attn.q_norm",
                                       "self_attn.q_proj",
                                       "self_attn.qkv_proj",
                                       "self_attn.v_proj"};
  std::vector<std::string> candidates{"lm_head", "model.embed_tokens", "model.norm"};
  const std::string layer =
      name.substr(0, 4) == "blk." ? name.substr(4, name.find('.', 4) - 4) : "";
  for (const char* stem : kStems) candidates.push_back("model.layers." + layer + "." + stem);
  // Both projections upwards are called ffn_up.
  const bool is_fused = family.model_type == "phi3";
  for (const std::string& candidate : candidates)
    for (const char* kind : {".weight", ".bias"})
      if (hugging_face::tensor_name(family, candidate + kind) == name &&
          (candidate.find("mlp.up_proj") != std::string::npos) <= !is_fused)
        return candidate + kind;
  return "";
}

// Pairs of neighbours in each head become halves.
std::vector<double> to_halves(const std::vector<double>& rows, int64_t heads, int64_t head,
                              int64_t k) {
  std::vector<double> out(rows.size());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < head; ++i) {
      const int64_t to = i % 2 * (head / 2) + i / 2;
      for (int64_t c = 0; c < k; ++c)
        out[static_cast<size_t>((h * head + to) * k + c)] =
            rows[static_cast<size_t>((h * head + i) * k + c)];
    }
  return out;
}

std::vector<uint8_t> f32_bytes(const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  const auto* at = reinterpret_cast<const uint8_t*>(floats.data());
  return {at, at + floats.size() * sizeof(float)};
}

json config_of(const Case& c, const Checkpoint& from) {
  json config{{"model_type", c.model_type},
              {"hidden_size", from.integer("embedding_length")},
              {"intermediate_size", from.integer("feed_forward_length")},
              {"num_hidden_layers", from.integer("block_count")},
              {"num_attention_heads", from.integer("attention.head_count")},
              {"num_key_value_heads", from.integer("attention.head_count_kv")},
              {"max_position_embeddings", from.integer("context_length")},
              {"rms_norm_eps", from.number("attention.layer_norm_rms_epsilon")},
              {"rope_theta", from.number("rope.freq_base")}};
  if (from.has("attention.key_length")) config["head_dim"] = from.integer("attention.key_length");
  config.update(c.more);
  return config;
}

// Writes the model in two files with an index.
void write_folder(const Case& c, const Checkpoint& from, const fs::path& folder) {
  const hugging_face::Family& family = family_of(c.model_type);
  test::SafetensorsWriter files[2];
  json map;
  json config = config_of(c, from);
  const int64_t heads = from.integer("attention.head_count"),
                kv_heads = from.integer("attention.head_count_kv"),
                e = from.integer("embedding_length");
  for (const auto& [name, tensor] : from.tensors) {
    std::vector<double> values = tensor.to_doubles();
    if (name.substr(0, 5) == "rope_") {
      const bool is_long = name.find("long") != std::string::npos;
      config["rope_scaling"][is_long ? "long_factor" : "short_factor"] = values;
      continue;
    }
    for (const auto& [part, n] : {std::pair{".attn_q.", heads}, std::pair{".attn_k.", kv_heads}})
      if (c.permutes && name.find(part) != std::string::npos) {
        const int64_t rows = tensor.shape()[0];
        values = to_halves(values, n, rows / n, tensor.rank() == 2 ? e : 1);
      }
    if (family.norms_add_one && name.find("norm.weight") != std::string::npos)
      for (double& v : values) v -= 1;
    const std::string other = other_name(family, name);
    ASSERT_NE(other, "") << name;
    const size_t file = map.size() % 2;
    if (!c.mlx.empty() && tensor.rank() == 2) {
      const std::string module = other.substr(0, other.rfind('.'));
      for (const std::string& part :
           test::add_mlx_matrix(files[file], module, c.mlx, tensor.shape(), values))
        map[part] = file == 0 ? "one.safetensors" : "two.safetensors";
      continue;
    }
    files[file].add(other, "F32", tensor.shape(), f32_bytes(values));
    map[other] = file == 0 ? "one.safetensors" : "two.safetensors";
  }
  fs::create_directories(folder);
  files[0].write(folder / "one.safetensors");
  files[1].write(folder / "two.safetensors");
  std::ofstream(folder / "model.safetensors.index.json") << json{{"weight_map", map}};
  std::ofstream(folder / "config.json") << config;
}

std::vector<float> logits_of(const std::string& path, const std::string& backend = "cpu") {
  const auto model =
      LanguageModel::load(path, {.backend = backend, .threads = 2, .kv_type = kF32, .exact = true});
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 40; ++i) tokens.push_back((i * 67 + 11) % 384);
  Sequence sequence(model->engine());
  const Tensor t = prefill(model->engine(), sequence, tokens, 64, Rows::all);
  return {t.as<float>(), t.as<float>() + t.numel()};
}

std::optional<fs::path> arch_file(const std::string& name) {
  if (const auto full = test::full_golden_dir()) return *full / "arch" / name;
  const fs::path path = test::golden_dir() / "arch" / name;
  return fs::exists(path) ? std::optional(path) : std::nullopt;
}

void expect_same_logits(const Case& c) {
  const auto gguf = arch_file(c.file);
  if (!gguf) return;
  SCOPED_TRACE(c.file);
  const fs::path folder = fs::path(testing::TempDir()) / ("hf_" + c.file);
  write_folder(c, load_gguf(gguf->string()), folder);
  const std::vector<float> want = logits_of(gguf->string()), got = logits_of(folder.string());
  ASSERT_EQ(got.size(), want.size());
  float most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got[i] - want[i]));
  EXPECT_LE(most, 2e-4f);
  fs::remove_all(folder);
}

TEST(HuggingFace, GivesTheLogitsOfTheSameModelInGguf) {
  const Case cases[] = {
      {.file = "llama.gguf", .model_type = "llama", .permutes = true},
      {.file = "llama-bias.gguf", .model_type = "llama", .permutes = true},
      {.file = "llama-linear.gguf",
       .model_type = "llama",
       .permutes = true,
       .more = {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}},
      {.file = "llama-yarn.gguf",
       .model_type = "llama",
       .permutes = true,
       .more =
           {{"rope_scaling",
             {{"rope_type", "yarn"}, {"factor", 8.0}, {"original_max_position_embeddings", 64}}}}},
      {.file = "mistral.gguf",
       .model_type = "mistral",
       .permutes = true,
       .more = {{"sliding_window", nullptr}}},
      {.file = "qwen2.gguf",
       .model_type = "qwen2",
       .more = {{"use_sliding_window", false}, {"sliding_window", 4}, {"max_window_layers", 1}}},
      {.file = "qwen3.gguf", .model_type = "qwen3"},
      {.file = "gemma2.gguf",
       .model_type = "gemma2",
       .more = {{"attn_logit_softcapping", 4.0},
                {"final_logit_softcapping", 8.0},
                {"sliding_window", 12},
                {"query_pre_attn_scalar", 32}}},
      {.file = "gemma3.gguf",
       .model_type = "gemma3_text",
       .more = {{"sliding_window", 12},
                {"sliding_window_pattern", 6},
                {"rope_local_base_freq", 10000.0},
                {"query_pre_attn_scalar", 32},
                {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}}},
      {.file = "phi3.gguf",
       .model_type = "phi3",
       .more = {{"original_max_position_embeddings", 512},
                {"rope_scaling", {{"type", "longrope"}, {"attention_factor", 1.19}}}}},
  };
  for (const Case& c : cases) expect_same_logits(c);
}

// The same model, its matrices in MLX's encodings, gives the logits of their decoded values.
TEST(HuggingFace, ReadsModelsThatMlxQuantised) {
  const Checkpoint from = load_gguf((test::golden_dir() / "arch/qwen3.gguf").string());
  const fs::path packed = fs::path(testing::TempDir()) / "hf_mlx",
                 plain = fs::path(testing::TempDir()) / "hf_mlx_plain";
  struct Kind {
    const char* format;
    json quantization;
  };
  const Kind kinds[] = {
      {"mlx_affine4_g64_f16", {{"bits", 4}, {"group_size", 64}, {"mode", "affine"}}},
      {"mlx_affine3_g32_bf16", {{"bits", 3}, {"group_size", 32}, {"lm_head", true}}},
      {"mlx_mxfp4", {{"bits", 4}, {"group_size", 32}, {"mode", "mxfp4"}}},
      {"mlx_mxfp8", {{"bits", 8}, {"group_size", 32}, {"mode", "mxfp8"}}},
      {"mlx_nvfp4", {{"bits", 4}, {"group_size", 16}, {"mode", "nvfp4"}}},
  };
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.format);
    const json more{{"quantization", kind.quantization}, {"quantization_config", {}}};
    write_folder({.file = "", .model_type = "qwen3", .more = more, .mlx = kind.format}, from,
                 packed);
    Checkpoint decoded = from;
    for (const auto& [name, tensor] : load_checkpoint(packed.string()).tensors) {
      if (tensor.rank() < 2) continue;
      EXPECT_EQ(tensor.dtype(), find_dtype(kind.format)) << name;
      decoded.tensors[name] =
          Tensor::from(kF32, tensor.shape(), std::span<const double>(tensor.to_doubles()));
    }
    write_folder({.file = "", .model_type = "qwen3"}, decoded, plain);
    const std::vector<float> want = logits_of(plain.string());
    for (const char* backend : {"cpu", "mlx-core"}) {
      if (backend != std::string("cpu") && !has_mlx()) continue;
      const std::vector<float> got = logits_of(packed.string(), backend);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-4f) << i;
    }
    fs::remove_all(packed);
    fs::remove_all(plain);
  }
}

TEST(HuggingFace, BadMlxWeightsAreNamed) {
  const fs::path folder = fs::path(testing::TempDir()) / "hf_mlx_bad";
  fs::create_directories(folder);
  const auto error = [&](const std::string& quantization, const std::string& format,
                         const std::string& left_out, std::vector<int64_t> words) {
    std::ofstream(folder / "config.json")
        << R"({"model_type":"llama","quantization":)" << quantization << "}";
    test::SafetensorsWriter file;
    test::add_mlx_matrix(file, "lm_head", format, {2, 64}, std::vector<double>(128, 1.5), left_out,
                         words);
    file.write(folder / "model.safetensors");
    try {
      load_checkpoint(folder.string());
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string four = R"({"bits":4,"group_size":32})", f16 = "mlx_affine4_g32_f16";
  EXPECT_EQ(error(four, f16, "", {}), "no error");
  EXPECT_EQ(error(R"({"bits":2,"group_size":32,"lm_head":{"bits":4}})", f16, "", {}), "no error");
  EXPECT_THAT(error(four, f16, "scales", {}), HasSubstr("a part is missing"));
  EXPECT_THAT(error(four, f16, "weight", {}), HasSubstr("a part is missing"));
  EXPECT_THAT(error(four, f16, "biases", {}), HasSubstr("biases and scales disagree"));
  EXPECT_THAT(error(R"({"bits":8,"group_size":32})", f16, "", {}),
              HasSubstr("got [2, 8] words for scales [2, 2]; want [2, 16]"));
  EXPECT_THAT(error(four, f16, "", {4, 4}), HasSubstr("weight and scales disagree; got [4, 4]"));
  EXPECT_THAT(error(R"({"bits":7})", f16, "", {}),
              HasSubstr("unknown encoding; got mode 'affine', 7"));
  EXPECT_THAT(error(R"({"mode":"mxfp4"})", f16, "", {}), HasSubstr("unknown encoding"));
  EXPECT_THAT(error(R"({"mode":"mxfp4","group_size":32})", "mlx_mxfp4", "", {}),
              HasSubstr("no error"));
  EXPECT_THAT(error("3", f16, "", {}), HasSubstr("'quantization' is of the wrong kind"));
  EXPECT_THAT(error(R"({"bits":"4"})", f16, "", {}), HasSubstr("'bits' is of the wrong kind"));
  EXPECT_THAT(error(R"({"mode":1})", f16, "", {}), HasSubstr("'mode' is of the wrong kind"));
  fs::remove_all(folder);
}

TEST(HuggingFace, FoldersAnswerInText) {
  const fs::path words = test::golden_dir() / "tokenizer/qwen2";
  const int64_t n = read_folder_tokenizer(words)->size();
  Checkpoint from = load_gguf((test::golden_dir() / "arch/qwen3.gguf").string());
  for (const char* name : {"token_embd.weight", "output.weight"}) {
    std::vector<double> rows(static_cast<size_t>(n * from.integer("embedding_length")));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 7919 % 1013) / 1013;
    from.tensors[name] =
        Tensor::from(kF32, {n, from.integer("embedding_length")}, std::span<const double>(rows));
  }
  const fs::path folder = fs::path(testing::TempDir()) / "hf_text";
  write_folder({.file = "", .model_type = "qwen3"}, from, folder);
  for (const auto& file : fs::directory_iterator(words))
    fs::copy_file(file, folder / file.path().filename(), fs::copy_options::overwrite_existing);
  std::ofstream(folder / "chat_template.jinja") << "{{ messages[0].content }}!";
  const auto model = LanguageModel::load(folder.string(), {.threads = 2});
  const std::string text =
      model->render_chat({{.role = "user", .content = "Hello", .more_json = {}}});
  EXPECT_EQ(text, "Hello!");
  Sequence sequence(model->engine());
  const std::vector<int32_t> prompt = model->tokenizer().encode(text);
  GenerateOptions options;
  options.max_tokens = 4;
  options.stop_at_end = false;
  EXPECT_EQ(generate(*model, sequence, prompt, options).tokens.size(), 4u);
  fs::remove_all(folder);
}

std::vector<int64_t> windows_of(const json& config) {
  Checkpoint c;
  hugging_face::read_config(config.dump(), "config.json", c);
  return std::get<std::vector<int64_t>>(c.metadata.at("attention.layer_windows"));
}

TEST(HuggingFace, WindowsFollowTheConfiguration) {
  using testing::ElementsAre;
  const json base{{"num_hidden_layers", 3}, {"sliding_window", 9}};
  const auto with = [&](json more) {
    more.update(base);
    return more;
  };
  EXPECT_THAT(windows_of(with({{"model_type", "mistral"}})), ElementsAre(9, 9, 9));
  EXPECT_THAT(windows_of(with({{"model_type", "qwen2"}})), ElementsAre(0, 0, 0));
  EXPECT_THAT(
      windows_of(
          with({{"model_type", "qwen2"}, {"use_sliding_window", true}, {"max_window_layers", 2}})),
      ElementsAre(0, 0, 9));
  EXPECT_THAT(windows_of(with({{"model_type", "gemma3_text"}, {"sliding_window_pattern", 2}})),
              ElementsAre(9, 0, 9));
  EXPECT_THAT(windows_of(with(
                  {{"model_type", "gemma3_text"},
                   {"layer_types", {"full_attention", "sliding_attention", "full_attention"}}})),
              ElementsAre(0, 9, 0));
}

std::string config_error(const std::string& text) {
  Checkpoint c;
  try {
    hugging_face::read_config(text, "config.json", c);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(HuggingFace, BadConfigurationsAreNamed) {
  EXPECT_EQ(config_error("[1"), "config.json: not a JSON object");
  EXPECT_THAT(config_error(R"({"model_type":"lama"})"), HasSubstr("did you mean 'llama'?"));
  EXPECT_THAT(config_error("{}"), HasSubstr("unknown model_type; got ''"));
  EXPECT_THAT(config_error(R"({"model_type":"llama","hidden_size":"big"})"),
              HasSubstr("'hidden_size' is missing or of the wrong kind; want a number"));
  EXPECT_THAT(config_error(R"({"model_type":"llama","rope_scaling":{"type":"dynamic"}})"),
              HasSubstr("unknown rope scaling; got 'dynamic'"));
  EXPECT_THAT(config_error(R"({"model_type":"phi3","rope_scaling":{"type":"longrope"}})"),
              HasSubstr("'long_factor' is missing"));
  EXPECT_THAT(config_error(R"({"model_type":"llama","quantization_config":{}})"),
              HasSubstr("quantised weights cannot be read"));
  EXPECT_THAT(config_error(R"({"model_type":"llama","num_hidden_layers":-1})"),
              HasSubstr("'num_hidden_layers'"));
  EXPECT_THAT(
      config_error(R"({"model_type":"gemma3_text","num_hidden_layers":2,"layer_types":[1]})"),
      HasSubstr("'layer_types'"));
}

TEST(HuggingFace, FoldersThatLackSomethingAreNamed) {
  const fs::path folder = fs::path(testing::TempDir()) / "hf_bad";
  fs::create_directories(folder);
  const auto error = [&] {
    try {
      build_model(load_checkpoint(folder.string()));
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error(), HasSubstr("config.json"));
  std::ofstream(folder / "config.json") << R"({"model_type":"llama","num_hidden_layers":1})";
  EXPECT_THAT(error(), HasSubstr("model.safetensors"));
  test::SafetensorsWriter().add("x", "F32", {1}, {0, 0, 0, 0}).write(folder / "model.safetensors");
  EXPECT_THAT(error(), HasSubstr("'llama.embedding_length' is missing"));
  std::ofstream(folder / "model.safetensors.index.json")
      << R"({"weight_map":{"y":"model.safetensors"}})";
  EXPECT_THAT(error(), HasSubstr("'y' is not in model.safetensors"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lamella
