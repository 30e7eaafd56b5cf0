#include "lamella/frontends/hugging_face/hugging_face.h"

#include <filesystem>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/frontends/hugging_face/mlx_weights.h"
#include "lamella/frontends/safetensors/safetensors.h"

namespace lamella::hugging_face {
namespace {

namespace fs = std::filesystem;

// Far above any configuration.
constexpr size_t kMaxConfig = 1 << 24;

constexpr Renaming kNames[] = {
    {"lm_head", "output"}, {"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"}};

constexpr Renaming kLayerNames[] = {
    // sorted:begin
    {"input_layernorm", "attn_norm"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.up_proj", "ffn_up"},
    {"post_attention_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.rotary_emb", ""},
    {"self_attn.v_proj", "attn_v"},
    // sorted:end
};

const Renaming* find_row(std::span<const Renaming> rows, std::string_view name) {
  for (const Renaming& row : rows)
    if (row.from == name) return &row;
  return nullptr;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Tensor plus_one(const Tensor& weight) {
  std::vector<double> values = weight.to_doubles();
  for (double& v : values) v += 1;
  return Tensor::from(kF32, weight.shape(), std::span<const double>(values));
}

// Tensors under the names and with the values that builders want.
class Loader {
 public:
  Loader(const Family& family, std::optional<MlxWeights> mlx, Checkpoint& c,
         std::vector<std::string>* problems)
      : family_(family), mlx_(std::move(mlx)), c_(c), problems_(problems) {}

  void add(const safetensors::Safetensors& file, const safetensors::Entry& e) {
    const std::string name = tensor_name(family_, e.name);
    c_.file_bytes += static_cast<int64_t>(e.bytes.size());
    if (name.empty()) return;
    if (e.type->dtype.is_none()) {
      if (problems_)
        problems_->push_back(str("tensor '", printable(e.name), "': elements of type ",
                                 e.type->name, " cannot be read"));
      return;
    }
    Tensor t = file.tensor(e);
    if (mlx_ && mlx_->take(name, e.name, t)) return;
    if (family_.norms_add_one && ends_with(name, "norm.weight") && t.dtype().is_float())
      t = plus_one(t);
    CHECK_USER(c_.tensors.emplace(name, std::move(t)).second, file.name(), ": two tensors for '",
               printable(name), "'; got '", printable(e.name), "' as the second");
  }

  void finish() {
    if (mlx_) mlx_->add_to(c_);
  }

  void add_all(const std::string& path) {
    const auto file = safetensors::Safetensors::open(path);
    for (const safetensors::Entry& e : file.entries()) add(file, e);
  }

  void add_indexed(const fs::path& index) {
    std::map<std::string, safetensors::Safetensors> files;
    for (const safetensors::Located& l : safetensors::read_index(index.string())) {
      auto it = files.find(l.file);
      if (it == files.end()) {
        const std::string path = (index.parent_path() / l.file).string();
        it = files.emplace(l.file, safetensors::Safetensors::open(path)).first;
      }
      const safetensors::Entry* e = it->second.find(l.tensor);
      CHECK_USER(e, index.string(), ": '", printable(l.tensor), "' is not in ", l.file);
      add(it->second, *e);
    }
  }

 private:
  const Family& family_;
  std::optional<MlxWeights> mlx_;
  Checkpoint& c_;
  std::vector<std::string>* problems_;
};

}  // namespace

std::span<const Renaming> tensor_stems() { return kNames; }
std::span<const Renaming> layer_tensor_stems() { return kLayerNames; }

std::string tensor_name(const Family& family, std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view stem = name.substr(0, dot), kind = name.substr(dot);
  if (const Renaming* row = find_row(kNames, stem)) return std::string(row->to).append(kind);
  if (stem.substr(0, kLayers.size()) != kLayers) return std::string(name);
  const std::string_view rest = stem.substr(kLayers.size());
  const size_t end = rest.find('.');
  if (end == std::string_view::npos) return std::string(name);
  const Renaming* row = find_row(kLayerNames, rest.substr(end + 1));
  if (!row) return std::string(name);
  if (row->to.empty()) return "";
  const bool is_post_norm = family.has_post_norms && row->from == "post_attention_layernorm";
  return str("blk.", rest.substr(0, end), ".", is_post_norm ? "post_attention_norm" : row->to,
             kind);
}

}  // namespace lamella::hugging_face

namespace lamella {

Checkpoint load_hugging_face(const std::string& folder, std::vector<std::string>* problems) {
  namespace fs = std::filesystem;
  const fs::path at(folder);
  const MappedFile config = MappedFile::open((at / "config.json").string());
  CHECK_USER(config.bytes().size() <= hugging_face::kMaxConfig, config.path(),
             ": too large for a configuration; got ", config.bytes().size(), " bytes");
  Checkpoint c;
  c.source = folder;
  const std::string_view text(reinterpret_cast<const char*>(config.bytes().data()),
                              config.bytes().size());
  const hugging_face::Family& family = hugging_face::read_config(text, config.path(), c);
  hugging_face::Loader loader(family, hugging_face::MlxWeights::read(text, config.path()), c,
                              problems);
  const fs::path index = at / "model.safetensors.index.json", whole = at / "model.safetensors";
  std::error_code ec;
  if (fs::exists(index, ec))
    loader.add_indexed(index);
  else
    loader.add_all(whole.string());
  loader.finish();
  return c;
}

}  // namespace lamella
