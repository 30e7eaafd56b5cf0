// config.json as GGUF's metadata.
#include <cmath>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/frontends/hugging_face/hugging_face.h"

namespace lamella::hugging_face {
namespace {

using nlohmann::json;

constexpr Family kFamilies[] = {
    // sorted:begin
    {.model_type = "gemma2",
     .architecture = "gemma2",
     .has_post_norms = true,
     .norms_add_one = true},
    {.model_type = "gemma3_text",
     .architecture = "gemma3",
     .has_post_norms = true,
     .norms_add_one = true},
    {.model_type = "llama", .architecture = "llama"},
    {.model_type = "mistral", .architecture = "llama", .windows = Windows::all},
    {.model_type = "phi3", .architecture = "phi3", .windows = Windows::all},
    {.model_type = "qwen2", .architecture = "qwen2", .windows = Windows::behind_a_layer},
    {.model_type = "qwen3", .architecture = "qwen3", .windows = Windows::behind_a_layer},
    // sorted:end
};

// Numbers that only change their name.
constexpr Renaming kKeys[] = {
    // sorted:begin
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"head_dim", "attention.key_length"},
    {"head_dim", "attention.value_length"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_hidden_layers", "block_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_local_base_freq", "rope.freq_base_swa"},
    {"rope_theta", "rope.freq_base"},
    {"sliding_window", "attention.sliding_window"},
    // sorted:end
};
// The same in rope_scaling (or rope_parameters).
constexpr Renaming kRopeKeys[] = {
    // sorted:begin
    {"beta_fast", "rope.scaling.yarn_beta_fast"},
    {"beta_slow", "rope.scaling.yarn_beta_slow"},
    {"factor", "rope.scaling.factor"},
    {"high_freq_factor", "rope.scaling.high_freq_factor"},
    {"low_freq_factor", "rope.scaling.low_freq_factor"},
    {"original_max_position_embeddings", "rope.scaling.original_context_length"},
    {"rope_theta", "rope.freq_base"},
    // sorted:end
};

constexpr Renaming kScalings[] = {
    {"default", "none"},      {"linear", "linear"}, {"llama3", "llama3"},
    {"longrope", "longrope"}, {"su", "longrope"},   {"yarn", "yarn"},
};

class Reader {
 public:
  Reader(const json& config, const std::string& path, Checkpoint& c)
      : config_(config), path_(path), c_(c) {}

  const Family& read() {
    const Family& family = find_family();
    // MLX writes its own "quantization" under this name too.
    CHECK_USER(!find(config_, "quantization_config") || find(config_, "quantization"), path_,
               ": quantised weights cannot be read; want f32, f16, bf16 or MLX's; hint: "
               "a GGUF file");
    c_.architecture = family.architecture;
    rename(config_, kKeys);
    // Where null says "none", the family's own value must not step in.
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
      if (is_null(key)) c_.metadata[key] = 0.0;
    c_.metadata["rope.halves"] = true;
    if (const double s = number(config_, "query_pre_attn_scalar", 0); s > 0)
      c_.metadata["attention.scale"] = 1 / std::sqrt(s);
    read_rope_dims();
    read_rope();
    read_windows(family);
    return family;
  }

 private:
  [[noreturn]] void wrong(std::string_view key, std::string_view want) const {
    throw UserError(str(path_, ": '", key, "' is missing or of the wrong kind; want ", want));
  }
  // Absent and null are the same.
  static const json* find(const json& j, std::string_view key) {
    const auto it = j.find(key);
    return it == j.end() || it->is_null() ? nullptr : &*it;
  }
  bool is_null(std::string_view key) const {
    const auto it = config_.find(key);
    return it != config_.end() && it->is_null();
  }
  double number(const json& j, std::string_view key, double otherwise) const {
    const json* v = find(j, key);
    if (v && !v->is_number()) wrong(key, "a number");
    return v ? v->get<double>() : otherwise;
  }
  int64_t integer(const json& j, std::string_view key, int64_t otherwise) const {
    const json* v = find(j, key);
    if (v && !v->is_number_integer()) wrong(key, "an integer");
    return v ? v->get<int64_t>() : otherwise;
  }
  std::string text(const json& j, std::string_view key, std::string otherwise) const {
    const json* v = find(j, key);
    if (v && !v->is_string()) wrong(key, "a text");
    return v ? v->get<std::string>() : otherwise;
  }

  const Family& find_family() const {
    const std::string type = text(config_, "model_type", "");
    std::vector<std::string_view> names;
    for (const Family& f : kFamilies) {
      if (f.model_type == type) return f;
      names.push_back(f.model_type);
    }
    throw UserError(str(path_, ": unknown model_type; got '", printable(type), "'; want one of ",
                        join(names, ", "), did_you_mean(type, names)));
  }

  void rename(const json& from, std::span<const Renaming> rows) {
    for (const Renaming& row : rows) {
      const json* v = find(from, row.from);
      if (!v) continue;
      if (!v->is_number()) wrong(row.from, "a number");
      if (v->is_number_integer())
        c_.metadata[std::string(row.to)] = v->get<int64_t>();
      else
        c_.metadata[std::string(row.to)] = v->get<double>();
    }
  }

  void read_rope_dims() {
    const double part = number(config_, "partial_rotary_factor", 1);
    if (part == 1) return;
    const int64_t heads = std::max<int64_t>(integer(config_, "num_attention_heads", 1), 1);
    const int64_t head = integer(config_, "head_dim", integer(config_, "hidden_size", 0) / heads);
    const double dims = part * static_cast<double>(head);
    if (!(dims >= 0 && dims < 1e9)) wrong("partial_rotary_factor", "a share of a head");
    c_.metadata["rope.dimension_count"] = static_cast<int64_t>(dims);
  }

  // rope_scaling, or rope_parameters (which may differ by kind of layer).
  void read_rope() {
    const json* rope = find(config_, "rope_parameters");
    if (!rope) rope = find(config_, "rope_scaling");
    if (rope && !rope->is_object()) wrong("rope_scaling", "an object");
    if (rope && find(*rope, "full_attention")) {
      if (const json* local = find(*rope, "sliding_attention"); local && local->is_object())
        c_.metadata["rope.freq_base_swa"] = number(*local, "rope_theta", 10000);
      rope = find(*rope, "full_attention");
      if (!rope->is_object()) wrong("full_attention", "an object");
    }
    c_.metadata["rope.scaling.type"] = std::string("none");
    if (!rope) return;
    rename(*rope, kRopeKeys);
    const std::string type = text(*rope, "rope_type", text(*rope, "type", "default"));
    for (const Renaming& row : kScalings)
      if (row.from == type) return read_scaling(*rope, std::string(row.to));
    throw UserError(str(path_, ": unknown rope scaling; got '", printable(type), "'"));
  }

  void read_scaling(const json& rope, const std::string& type) {
    c_.metadata["rope.scaling.type"] = type;
    const double given = number(rope, "attention_factor", 0);
    if (type == "longrope") return read_long_rope(rope, given);
    if (type == "yarn" && given > 0) {
      // The rotation multiplies by its own factor too.
      const double factor = number(rope, "factor", 1);
      c_.metadata["rope.scaling.yarn_attn_factor"] = given / (1 + 0.1 * std::log(factor));
    }
  }

  void read_long_rope(const json& rope, double given) {
    const int64_t context = integer(config_, "max_position_embeddings", 0);
    const int64_t original = integer(config_, "original_max_position_embeddings",
                                     integer(rope, "original_max_position_embeddings", context));
    const double stretch =
        number(rope, "factor", static_cast<double>(context) / static_cast<double>(original));
    const double natural =
        stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(double(original)));
    c_.metadata["rope.scaling.original_context_length"] = original;
    c_.metadata["rope.scaling.attn_factor"] = given > 0 ? given : natural;
    for (const char* part : {"long", "short"}) {
      const json* list = find(rope, std::string(part) + "_factor");
      if (!list || !list->is_array()) wrong(std::string(part) + "_factor", "an array of numbers");
      std::vector<double> factors;
      for (const json& v : *list) {
        if (!v.is_number()) wrong(std::string(part) + "_factor", "an array of numbers");
        factors.push_back(v.get<double>());
      }
      c_.tensors["rope_factors_" + std::string(part) + ".weight"] = Tensor::from(
          kF32, {static_cast<int64_t>(factors.size())}, std::span<const double>(factors));
    }
  }

  void read_windows(const Family& family) {
    const int64_t window = integer(config_, "sliding_window", 0);
    const int64_t layers = integer(config_, "num_hidden_layers", 0);
    if (layers < 0 || layers > 1 << 16) wrong("num_hidden_layers", "a number of layers");
    std::vector<int64_t> windows(static_cast<size_t>(layers), 0);
    if (const json* types = find(config_, "layer_types")) {
      if (!types->is_array() || types->size() != windows.size())
        wrong("layer_types", "one text a layer");
      for (size_t i = 0; i < windows.size(); ++i)
        if ((*types)[i] == "sliding_attention") windows[i] = window;
    } else if (family.windows == Windows::by_family) {
      const int64_t period = integer(config_, "sliding_window_pattern", 0);
      if (period <= 0 && !is_null("sliding_window")) return;
      for (int64_t i = 0; i < layers; ++i)
        if (period > 0 && (i + 1) % period != 0) windows[static_cast<size_t>(i)] = window;
    } else {
      const bool is_behind = family.windows == Windows::behind_a_layer;
      const json* use = find(config_, "use_sliding_window");
      const bool is_used = !is_behind || (use && use->is_boolean() && use->get<bool>());
      const int64_t first = is_behind ? integer(config_, "max_window_layers", layers) : 0;
      for (int64_t i = std::max<int64_t>(first, 0); is_used && i < layers; ++i)
        windows[static_cast<size_t>(i)] = window;
    }
    c_.metadata["attention.layer_windows"] = windows;
  }

  const json& config_;
  const std::string& path_;
  Checkpoint& c_;
};

}  // namespace

std::span<const Family> families() { return kFamilies; }
std::span<const Renaming> config_keys() { return kKeys; }

const Family& read_config(std::string_view text, const std::string& path, Checkpoint& c) {
  const json config = json::parse(text, nullptr, false);
  CHECK_USER(config.is_object(), path, ": not a JSON object");
  return Reader(config, path, c).read();
}

}  // namespace lamella::hugging_face
