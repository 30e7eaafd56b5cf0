#include "lamella/lm/gguf_text.h"

#include "lamella/base/error.h"

namespace lamella {
namespace {

struct SpecialId {
  std::string_view key;
  int32_t Vocabulary::*id;
};
constexpr SpecialId kSpecialIds[] = {
    {"bos_token_id", &Vocabulary::bos},     {"eos_token_id", &Vocabulary::eos},
    {"eot_token_id", &Vocabulary::eot},     {"eom_token_id", &Vocabulary::eom},
    {"unknown_token_id", &Vocabulary::unk}, {"seperator_token_id", &Vocabulary::sep},
    {"padding_token_id", &Vocabulary::pad}, {"mask_token_id", &Vocabulary::mask},
};

struct Flag {
  std::string_view key;
  std::optional<bool> Vocabulary::*value;
};
constexpr Flag kFlags[] = {
    {"add_bos_token", &Vocabulary::add_bos},
    {"add_eos_token", &Vocabulary::add_eos},
    {"add_sep_token", &Vocabulary::add_sep},
    {"add_space_prefix", &Vocabulary::add_space_prefix},
    {"remove_extra_whitespaces", &Vocabulary::remove_extra_whitespaces},
};

// The ids that a kind of tokenizer has where the file names none.
struct DefaultId {
  std::string_view model;
  int32_t Vocabulary::*id;
  int32_t value;
};
constexpr DefaultId kDefaultIds[] = {
    {"bert", &Vocabulary::pad, 0},    {"bert", &Vocabulary::unk, 100},
    {"bert", &Vocabulary::bos, 101},  {"bert", &Vocabulary::sep, 102},
    {"bert", &Vocabulary::mask, 103}, {"llama", &Vocabulary::unk, 0},
    {"llama", &Vocabulary::bos, 1},   {"llama", &Vocabulary::eos, 2},
    {"t5", &Vocabulary::pad, 0},      {"t5", &Vocabulary::eos, 1},
    {"t5", &Vocabulary::unk, 2},
};

// Tokens that swallow white space beside them: facts of models that files do not carry.
void set_strips(const gguf::Gguf& file, Vocabulary& v) {
  std::string name = file.get_or<std::string>("general.name", "");
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const bool is_phi3 = name.find("phi-3") != name.npos || name.find("phi3") != name.npos;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string& text = v.tokens[i];
    if (v.pre.starts_with("jina-v2-") && text == "<mask>") v.strip_left.push_back(id);
    const int32_t type = i < v.token_types.size() ? v.token_types[i] : 0;
    const bool is_special = type == int32_t(TokenType::control) ||
                            type == int32_t(TokenType::user_defined) || text == "</s>";
    if (is_phi3 && is_special && text != "<s>" && text != "<|endoftext|>")
      v.strip_right.push_back(id);
  }
}

std::string full_key(std::string_view key) { return "tokenizer.ggml." + std::string(key); }

}  // namespace

Vocabulary read_vocabulary(const gguf::Gguf& file) {
  Vocabulary v;
  v.model = file.get<std::string>(full_key("model"));
  v.pre = file.get_or<std::string>(full_key("pre"), "");
  v.tokens = file.get<std::vector<std::string>>(full_key("tokens"));
  v.scores = file.get_or<std::vector<float>>(full_key("scores"), {});
  v.token_types = file.get_or<std::vector<int32_t>>(full_key("token_type"), {});
  v.merges = file.get_or<std::vector<std::string>>(full_key("merges"), {});
  for (const DefaultId& d : kDefaultIds)
    if (d.model == v.model && static_cast<size_t>(d.value) < v.tokens.size()) v.*(d.id) = d.value;
  for (const SpecialId& s : kSpecialIds)
    // Files mark "no such token" by an id beyond the list.
    if (auto id = file.get_if<uint32_t>(full_key(s.key)); id && *id < v.tokens.size())
      v.*(s.id) = static_cast<int32_t>(*id);
  for (const Flag& f : kFlags) v.*(f.value) = file.get_if<bool>(full_key(f.key));
  v.precompiled_charsmap = file.get_or<std::vector<uint8_t>>(full_key("precompiled_charsmap"), {});
  set_strips(file, v);
  return v;
}

std::string read_chat_template(const gguf::Gguf& file) {
  return file.get_or<std::string>("tokenizer.chat_template", "");
}

}  // namespace lamella
